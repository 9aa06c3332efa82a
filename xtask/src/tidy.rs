//! The rules of the house that a machine can check (`style.md` calls them tidy).

mod book;
mod dependencies;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Result, bail};

use crate::process::{Workspace, command};

/// Most lines of a source file, tests and tables not counted, unless its `//!` says what single thing makes it long.
const FILE_LINES_MAX: usize = 800;

/// File names that name nothing.
const EMPTY_NAMES: [&str; 7] = ["base", "common", "utils", "helpers", "misc", "types", "manager"];

/// Folders and files where `unsafe` may stand; lengthening the list is a design change.
const UNSAFE_ADDRESSES: &str = include_str!("../unsafe_addresses.txt");

/// Checks every tracked file and fails with all findings.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let listing = command("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).output(workspace)?;
    let files: BTreeSet<&str> = listing.lines().filter(|file| workspace.path(file).is_file()).collect();
    let mut findings = Vec::new();
    for file in &files {
        if let Ok(text) = fs::read_to_string(workspace.path(file)) {
            check_file(file, &text, &mut findings);
        }
    }
    if let Ok(map) = fs::read_to_string(workspace.path("ARCHITECTURE.md")) {
        check_map(&map, &files, workspace, &mut findings)?;
    }
    book::check(workspace, &files, &mut findings);
    dependencies::check(workspace, &mut findings)?;
    if !findings.is_empty() {
        bail!("tidy: {} findings\n{}", findings.len(), findings.join("\n"));
    }
    Ok(())
}

fn is_source(file: &str) -> bool {
    [".rs", ".cpp", ".h", ".py"].iter().any(|ending| file.ends_with(ending))
}

fn check_file(file: &str, text: &str, findings: &mut Vec<String>) {
    if !is_source(file) {
        return;
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.split('.').next().unwrap_or(name);
    if EMPTY_NAMES.contains(&stem) {
        findings.push(format!("{file}: '{stem}' names nothing; name the file after the thing inside"));
    }
    if stem.starts_with("autogen_") {
        if !text.lines().next().is_some_and(|line| line.to_ascii_lowercase().contains("generated")) {
            findings.push(format!(
                "{file}:1: a generated file says in line 1 from what and by which command it was generated"
            ));
        }
        return;
    }
    // The rule's own words must not trip it.
    let forbidden = concat!("FIX", "ME");
    for (number, line) in text.lines().enumerate() {
        if line.contains(forbidden) {
            findings.push(format!("{file}:{}: {forbidden} on main", number + 1));
        }
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    if code.lines().count() > FILE_LINES_MAX && !text.lines().take(12).any(|line| line.contains("long because")) {
        findings.push(format!(
            "{file}: {} lines; split it, or say at the top what it is 'long because' of",
            code.lines().count()
        ));
    }
    if file.ends_with(".rs") && !is_test(file) && has_unsafe(code) && !is_unsafe_address(file) {
        findings.push(format!("{file}: unsafe outside the addresses in xtask/unsafe_addresses.txt"));
    }
}

/// Tests and benchmarks may call what is unsafe to call.
fn is_test(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/") || file.contains("/benches/")
}

/// Whether code (comments aside) opens an unsafe block, function, impl or extern block.
fn has_unsafe(code: &str) -> bool {
    code.lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .any(|line| ["{", "fn", "impl", "extern"].iter().any(|form| line.contains(&["unsafe", form].join(" "))))
}

fn is_unsafe_address(file: &str) -> bool {
    UNSAFE_ADDRESSES
        .lines()
        .map(|line| line.split('#').next().unwrap_or(line).trim())
        .any(|address| !address.is_empty() && file.starts_with(address))
}

/// Every name in backticks that looks like a path or a crate must exist.
fn check_map(map: &str, files: &BTreeSet<&str>, workspace: &Workspace, findings: &mut Vec<String>) -> Result<()> {
    let sources: String = files
        .iter()
        .filter(|file| is_source(file))
        .filter_map(|file| fs::read_to_string(workspace.path(file)).ok())
        .collect();
    for (number, line) in map.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| !name.contains(' ')) {
            let is_path =
                name.contains('/') || [".rs", ".py", ".cpp", ".h", ".md"].iter().any(|end| name.ends_with(end));
            let is_type = name.chars().next().is_some_and(|first| first.is_ascii_uppercase())
                && name.chars().all(|letter| letter.is_ascii_alphanumeric());
            let known = if is_path {
                files.iter().any(|file| *file == name || file.ends_with(&format!("/{name}")) || file.starts_with(name))
                    || workspace.path(name).exists()
            } else if is_type {
                sources.contains(name)
            } else if name.starts_with("openmps-") {
                workspace.path(format!("crates/{name}")).exists()
            } else {
                true
            };
            if !known {
                findings.push(format!("ARCHITECTURE.md:{}: `{name}` does not exist", number + 1));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(file: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_file(file, text, &mut findings);
        findings
    }

    #[test]
    fn empty_names_are_refused() {
        assert_eq!(findings("crates/x/src/utils.rs", "").len(), 1);
        assert_eq!(findings("crates/x/src/grid.rs", ""), Vec::<String>::new());
    }

    #[test]
    fn unsafe_needs_an_address() {
        let text = concat!("fn f() { uns", "afe { g() } }\n");
        assert_eq!(findings("crates/openmps-engine/src/grid.rs", text).len(), 1);
        assert_eq!(findings("crates/openmps-llvm/src/module.rs", text), Vec::<String>::new());
        assert_eq!(findings("crates/openmps-engine/src/grid.rs", "// unsafe { } in words\n"), Vec::<String>::new());
    }

    #[test]
    fn long_files_say_why() {
        let long = "x\n".repeat(FILE_LINES_MAX + 1);
        assert_eq!(findings("a.py", &long).len(), 1);
        assert_eq!(findings("a.py", &format!("# long because it is a table\n{long}")), Vec::<String>::new());
    }

    #[test]
    fn generated_files_name_their_command() {
        assert_eq!(findings("a/autogen_x.rs", "// hello\n").len(), 1);
        assert_eq!(findings("a/autogen_x.rs", "// generated by ./dev bless from y\n"), Vec::<String>::new());
    }
}
