//! The book and the other pages: each is listed, and what they link to exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::process::Workspace;

/// The list of the book's pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Adds pages of `docs/` that the summary does not list, and links to files and headings that do not exist.
pub(super) fn check(workspace: &Workspace, files: &BTreeSet<&str>, findings: &mut Vec<String>) {
    let pages: BTreeMap<&str, String> = files
        .iter()
        .filter(|file| file.ends_with(".md"))
        .filter_map(|file| Some((*file, fs::read_to_string(workspace.path(file)).ok()?)))
        .collect();
    check_pages(&pages, files, findings);
}

fn check_pages(pages: &BTreeMap<&str, String>, files: &BTreeSet<&str>, findings: &mut Vec<String>) {
    let listed: BTreeSet<String> = pages.get(SUMMARY).map_or_else(BTreeSet::new, |summary| {
        links(summary).filter_map(|(_, target)| resolved(SUMMARY, file_and_heading(target).0)).collect()
    });
    for page in pages.keys().filter(|page| page.starts_with("docs/") && **page != SUMMARY) {
        if !listed.contains(*page) {
            findings.push(format!("{page}: {SUMMARY} does not list it"));
        }
    }
    for (page, text) in pages {
        for (line, target) in
            links(text).filter(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"))
        {
            let (file, heading) = file_and_heading(target);
            let there = if file.is_empty() { Some((*page).to_owned()) } else { resolved(page, file) };
            let found = there
                .filter(|there| files.iter().any(|known| known == there || known.starts_with(&format!("{there}/"))));
            let is_right = match (&found, heading) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(there), Some(heading)) => {
                    pages.get(there.as_str()).is_some_and(|text| headings(text).contains(heading))
                }
            };
            if !is_right {
                findings.push(format!("{page}:{line}: the link to '{target}' leads nowhere"));
            }
        }
    }
}

/// Targets of a page's links with their lines; code is no link.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        let outside_code = line.split('`').step_by(2);
        outside_code
            .flat_map(|part| part.split("](").skip(1))
            .filter_map(move |rest| Some((number, rest.split_once(')')?.0)))
    })
}

/// Lines outside of code blocks, from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            return None;
        }
        (!is_code).then_some((number + 1, line))
    })
}

fn file_and_heading(target: &str) -> (&str, Option<&str>) {
    target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)))
}

/// `relative` as seen from `page`, from the root; none where that lies outside.
fn resolved(page: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in relative.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

/// The names under which mdBook makes a page's headings known: letters and digits in lower case, blanks as hyphens.
fn headings(text: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for (_, line) in prose(text).filter(|(_, line)| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim();
        let letters = title.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
        });
        let name: String = letters.collect();
        let again = (1..).map(|count| format!("{name}-{count}"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !known.contains(name));
        known.extend(free);
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(pages: &[(&'static str, &str)]) -> Vec<String> {
        let mut findings = Vec::new();
        let files = pages.iter().map(|(file, _)| *file).chain(["crates/x/src/lib.rs"]).collect();
        let pages = pages.iter().map(|(file, text)| (*file, (*text).to_owned())).collect();
        check_pages(&pages, &files, &mut findings);
        findings
    }

    #[test]
    fn pages_are_listed() {
        let pages = [("docs/SUMMARY.md", "- [A](a.md)\n- [B](dev/b.md)"), ("docs/a.md", ""), ("docs/dev/b.md", "")];
        assert_eq!(findings(&pages), Vec::<String>::new());
        assert_eq!(
            findings(&[pages[0], pages[1], pages[2], ("docs/c.md", "")]),
            ["docs/c.md: docs/SUMMARY.md does not list it"]
        );
        assert_eq!(findings(&pages[..2]), ["docs/SUMMARY.md:2: the link to 'dev/b.md' leads nowhere"]);
    }

    #[test]
    fn links_lead_somewhere() {
        let good = "[lib](crates/x/src/lib.rs) [folder](crates/x/src) [web](https://x.y/z) [here](#the-end-of-it) `[code](none)`\n# The End, of `it`\n";
        assert_eq!(findings(&[("README.md", good)]), Vec::<String>::new());
        for bad in ["[a](none.md)", "[a](#none)", "[a](README.md#none)", "[a](../README.md)", "[a](crates/x/s)"] {
            assert_eq!(findings(&[("README.md", bad)]).len(), 1, "{bad}");
        }
        assert_eq!(findings(&[("README.md", "```\n[a](none.md)\n```\n")]), Vec::<String>::new());
    }

    #[test]
    fn headings_of_one_name_are_numbered() {
        let known = headings("# Bad input\n## Bad input\n```\n# comment\n```\n");
        assert_eq!(known.into_iter().collect::<Vec<_>>(), ["bad-input", "bad-input-1"]);
    }
}
