//! `openmps trace show`: a capture or a Perfetto trace as one page that needs nothing else.

mod arguments;
mod counters;
mod lines;
mod memory;
mod page;
mod preview;
mod source;
mod timeline;

use std::fs;
use std::path::{Path, PathBuf};

use openmps_trace::perfetto::Trace;
use serde::Serialize;

use crate::args::trace::Show;
use crate::failure::Failure;
use crate::output;
use lines::Lines;
use page::Page;

const TEMPLATE: &str = include_str!("../../../../page/page.html");
const STYLE: &str = include_str!("../../../../page/page.css");
const SCRIPT: &str = include_str!("../../../../page/page.js");

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    page: PathBuf,
    bytes: usize,
}

pub(crate) fn run(arguments: &Show) -> Result<(), Failure> {
    let file = &arguments.file;
    let page = if is_trace(file) {
        let trace = Trace::open(file).map_err(|error| Failure::about(file, error))?;
        timeline::page(&trace, &stem(file))
    } else {
        let capture = super::open(file)?;
        let mut page = Page::of_capture(&capture, !arguments.no_buffers);
        page.add_work(&Lines::of_capture(&capture, arguments.count)?);
        page
    };
    let page = html(&page);
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(stem(file) + ".html"));
    fs::write(&path, &page).map_err(|error| Failure::about(&path, error))?;
    if arguments.json {
        return output::print_json(&Report { page: path, bytes: page.len() });
    }
    output::print(&format!("{}: {} bytes\n", path.display(), page.len()))
}

/// Captures are folders, traces are files.
fn is_trace(path: &Path) -> bool {
    path.is_file()
}

/// The file's name without its folder and ending: the page's title, and its file where none is named.
fn stem(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "trace".into())
}

/// The page's text. Data stands in a script element, where only `</` could end it.
fn html(page: &Page) -> String {
    let data = serde_json::to_string(page).expect("numbers and texts can be written as JSON");
    let data = data.replace("</", "<\\/").replace("<!--", "<\\u0021--");
    let parts = [("/*STYLE*/", STYLE), ("/*SCRIPT*/", SCRIPT), ("/*DATA*/", &data)];
    let mut rest = TEMPLATE;
    let mut text = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + data.len());
    // In the template's order, so that nothing is looked for in what was put in.
    while let Some((place, mark, part)) =
        parts.iter().filter_map(|(mark, part)| Some((rest.find(mark)?, mark, part))).min_by_key(|found| found.0)
    {
        text.push_str(&rest[..place]);
        text.push_str(part);
        rest = &rest[place + mark.len()..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let mut page = Page::default();
        page.title.push_str("</script><!-- /*SCRIPT*/");
        let text = html(&page);
        assert!(text.contains(r#""title":"<\/script><\u0021-- /*SCRIPT*/""#));
        assert_eq!(text.matches("</script>").count(), 2);
        assert_eq!(text.matches("function drawTimeline()").count(), 1);
        // The one address is a name of XML that nothing loads.
        assert_eq!(text.matches("http").count(), text.matches("\"http://www.w3.org/2000/svg\"").count() + 1);
        assert!(text.contains("http-equiv"));
    }
}
