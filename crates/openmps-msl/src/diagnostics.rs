//! Clang's diagnostics in the user's own coordinates and words.
//!
//! Columns map back to the text before rewriting, the source line under a message is the user's, types have MSL's
//! names. Nothing shows a place inside the library: an error there moves to the place in the user's text that led to it,
//! and of the notes there only a few reasons why functions of the library were no candidates stay, without a place.

use std::ops::Range;

use openmps_engine::{Diagnostic, Severity};
use openmps_llvm::clang::{ClangDiagnostic, Level};

use crate::limits::LINE_CHARS_MAX;
use crate::rewrite::{ColumnMap, SOURCE_NAME};

mod words;

use words::metal_words;

/// What a person reads and what a program reads.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Each message.
    pub diagnostics: Vec<Diagnostic>,
    /// `program_source:1:5: error: …` with source lines and carets.
    pub rendered: String,
}

/// Translates clang's diagnostics about the rewriting of `source`.
#[must_use]
pub fn report(source: &str, columns: &ColumnMap, mut diagnostics: Vec<ClangDiagnostic>) -> Report {
    let mut report = Report::default();
    if diagnostics.is_empty() {
        return report;
    }
    move_out_of_headers(&mut diagnostics);
    let lines = SourceLines::new(source);
    let mut rest = diagnostics.into_iter().peekable();
    while let Some(primary) = rest.next() {
        let mut notes = Vec::new();
        while let Some(note) = rest.next_if(|next| next.level == Level::Note) {
            notes.push(note);
        }
        if !words::is_for_users(&primary.message) {
            continue;
        }
        report.add(&lines, columns, primary);
        let reasons = library_reasons(&notes);
        for note in notes {
            if !is_in_library(&note) && words::is_for_users(&note.message) {
                report.add(&lines, columns, note);
            }
        }
        for message in reasons {
            let note = Diagnostic { severity: Severity::Note, file: String::new(), line: 0, column: 0, message };
            render(&mut report.rendered, &lines, &note, &[]);
            report.diagnostics.push(note);
        }
    }
    report
}

impl Report {
    fn add(&mut self, lines: &SourceLines<'_>, columns: &ColumnMap, diagnostic: ClangDiagnostic) {
        let map = |column| columns.source_column(diagnostic.line, column);
        let ranges: Vec<Range<u32>> = diagnostic.ranges.iter().map(|range| map(range.start)..map(range.end)).collect();
        let translated = translate(columns, diagnostic);
        render(&mut self.rendered, lines, &translated, &ranges);
        self.diagnostics.push(translated);
    }
}

/// Most candidates of the library that are explained; of the dozens that a math function has none says much.
const LIBRARY_REASONS_MAX: usize = 3;

/// Why the functions of the library that a call could mean do not fit it, unless they are many.
fn library_reasons(notes: &[ClangDiagnostic]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for note in notes.iter().filter(|note| is_in_library(note) && note.message.starts_with("candidate ")) {
        let mut reason = metal_words(&note.message);
        // Assignment and copies: nobody wrote these functions, what counts is that the types do not fit.
        if let Some((_, types)) = reason.split_once("(the implicit copy ").and_then(|(_, rest)| rest.split_once(": ")) {
            reason = types.trim_end_matches(" for 1st argument").to_owned();
        }
        let is_reason = reason.contains(": ") || reason.starts_with("no known conversion");
        let is_internal =
            ["__", "(the implicit ", "matrix64", "std::initializer_list<"].iter().any(|word| reason.contains(word));
        if is_reason && !is_internal && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.len() > LIBRARY_REASONS_MAX { Vec::new() } else { reasons }
}

/// Whether the place is in a header of the library, or in what one of its macros makes.
fn is_in_library(diagnostic: &ClangDiagnostic) -> bool {
    diagnostic.in_system_header || diagnostic.file.starts_with('<')
}

/// The same for messages of the rewriter.
pub(crate) fn append_plain(report: &mut Report, source: &str, diagnostics: Vec<Diagnostic>) {
    let lines = SourceLines::new(source);
    for diagnostic in diagnostics {
        render(&mut report.rendered, &lines, &diagnostic, &[]);
        report.diagnostics.push(diagnostic);
    }
}

/// An error or warning in a header takes the place of the first of its notes that is in the user's text. One without
/// such a note follows from the one before, or has no place that means something to the user.
fn move_out_of_headers(diagnostics: &mut Vec<ClangDiagnostic>) {
    let mut index = 0;
    let mut has_moved = false;
    while index < diagnostics.len() {
        if diagnostics[index].level == Level::Note || !is_in_library(&diagnostics[index]) {
            has_moved &= diagnostics[index].level == Level::Note;
            index += 1;
            continue;
        }
        let note = diagnostics[index + 1..]
            .iter()
            .take_while(|next| next.level == Level::Note)
            .position(|next| next.file == SOURCE_NAME);
        if let Some(offset) = note {
            let note = diagnostics.remove(index + 1 + offset);
            let primary = &mut diagnostics[index];
            *primary = ClangDiagnostic { level: primary.level, message: std::mem::take(&mut primary.message), ..note };
            has_moved = true;
        } else if has_moved {
            diagnostics.remove(index);
            continue;
        } else {
            (diagnostics[index].file, diagnostics[index].line) = (String::new(), 0);
        }
        index += 1;
    }
}

fn translate(columns: &ColumnMap, diagnostic: ClangDiagnostic) -> Diagnostic {
    let is_users = diagnostic.file == SOURCE_NAME;
    let column = if is_users { columns.source_column(diagnostic.line, diagnostic.column) } else { diagnostic.column };
    // Folders of the installation say nothing to the user.
    let file = diagnostic.file.rsplit('/').next().unwrap_or_default().to_owned();
    let severity = match diagnostic.level {
        Level::Note => Severity::Note,
        Level::Warning => Severity::Warning,
        Level::Error => Severity::Error,
    };
    Diagnostic { severity, file, line: diagnostic.line, column, message: metal_words(&diagnostic.message) }
}

fn render(output: &mut String, lines: &SourceLines<'_>, diagnostic: &Diagnostic, ranges: &[Range<u32>]) {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    if diagnostic.line == 0 {
        output.push_str(&format!("{SOURCE_NAME}: {severity}: {}\n", diagnostic.message));
        return;
    }
    let Diagnostic { file, line, column, message, .. } = diagnostic;
    output.push_str(&format!("{file}:{line}:{column}: {severity}: {message}\n"));
    if file != SOURCE_NAME {
        return;
    }
    let Some(text) = lines.line(*line) else { return };
    let start = window_start(text, *column);
    let length = text[start..].char_indices().map(|(at, _)| at).nth(LINE_CHARS_MAX).unwrap_or(text.len() - start);
    let cut = |column: u32| column.saturating_sub(u32::try_from(start).unwrap_or(u32::MAX)).max(1);
    let ranges: Vec<Range<u32>> = ranges.iter().map(|range| cut(range.start)..cut(range.end)).collect();
    let shown = &text[start..start + length];
    output.push_str(shown);
    output.push('\n');
    output.push_str(&caret_line(shown, cut(*column), &ranges));
    output.push('\n');
}

/// Where to begin to show a line so that `column` is seen: at its start, unless the line is longer than anybody reads.
fn window_start(text: &str, column: u32) -> usize {
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    if column < LINE_CHARS_MAX {
        return 0;
    }
    let mut start = (column - LINE_CHARS_MAX / 2).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    start
}

/// The lines of a text, found once.
#[derive(Debug)]
struct SourceLines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> SourceLines<'a> {
    fn new(source: &'a str) -> Self {
        let behind = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { source, starts: std::iter::once(0).chain(behind).collect() }
    }

    /// Line `number`, from 1, without its end.
    fn line(&self, number: u32) -> Option<&'a str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).map_or(self.source.len(), |next| next - 1);
        Some(self.source[start..end].trim_end_matches('\r'))
    }
}

/// `~~~^~~~` under the line; tabs stay tabs, so that it lines up.
fn caret_line(text: &str, column: u32, ranges: &[Range<u32>]) -> String {
    let mut line = String::new();
    let mut position = 1u32;
    // One more place, for a caret behind the last character.
    for character in text.chars().chain([' ']) {
        let next = position + u32::try_from(character.len_utf8()).expect("a character has at most four bytes");
        let is_marked = ranges.iter().any(|range| range.contains(&position))
            && usize::try_from(position).is_ok_and(|at| at <= text.len());
        line.push(match character {
            _ if (position..next).contains(&column) => '^',
            '\t' => '\t',
            _ if is_marked => '~',
            _ => ' ',
        });
        position = next;
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let source = format!("x\r\n{}é!{}", "a".repeat(2000), "b".repeat(2000));
        let at = |column| Diagnostic {
            severity: Severity::Error,
            file: SOURCE_NAME.to_owned(),
            line: 2,
            column,
            message: String::new(),
        };
        for column in [1, 500, 2001, 2003, 4000, 9000] {
            let mut report = Report::default();
            append_plain(&mut report, &source, vec![at(column)]);
            let lines: Vec<&str> = report.rendered.lines().collect();
            assert!(lines[1].chars().count() <= LINE_CHARS_MAX, "column {column}");
            let caret = lines[2].find('^');
            let shown = caret.and_then(|at| lines[1].chars().nth(at));
            let expected = match column {
                1 | 500 => Some('a'),
                2001 => Some('é'),
                2003 => Some('!'),
                4000 => Some('b'),
                _ => None,
            };
            assert_eq!(shown, expected, "column {column}");
        }
    }

    #[test]
    fn carets_line_up_under_tabs_and_wide_characters() {
        assert_eq!(caret_line("\tab c", 3, std::slice::from_ref(&(2..4))), "\t~^");
        assert_eq!(caret_line("ä+b", 3, &[]), " ^");
        assert_eq!(caret_line("ab", 3, std::slice::from_ref(&(1..9))), "~~^");
    }
}
