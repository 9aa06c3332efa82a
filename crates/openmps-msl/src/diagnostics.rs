//! Clang's diagnostics in the user's own coordinates and words.
//!
//! Columns map back to the text before rewriting, the source line under a message is the user's, types have MSL's
//! names, and notes inside the library's headers are dropped. An error inside a header moves to the place in the user's
//! text that led there.

use std::ops::Range;

use openmps_engine::{Diagnostic, Severity};
use openmps_llvm::clang::{ClangDiagnostic, Level};

use crate::rewrite::{ColumnMap, SOURCE_NAME};

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
    move_out_of_headers(&mut diagnostics);
    let mut report = Report::default();
    for diagnostic in diagnostics {
        if diagnostic.level == Level::Note && diagnostic.in_system_header {
            continue;
        }
        let ranges: Vec<Range<u32>> = diagnostic
            .ranges
            .iter()
            .map(|range| {
                columns.source_column(diagnostic.line, range.start)..columns.source_column(diagnostic.line, range.end)
            })
            .collect();
        let translated = translate(columns, diagnostic);
        render(&mut report.rendered, source, &translated, &ranges);
        report.diagnostics.push(translated);
    }
    report
}

/// The same for messages of the rewriter.
pub(crate) fn append_plain(report: &mut Report, source: &str, diagnostics: Vec<Diagnostic>) {
    for diagnostic in diagnostics {
        render(&mut report.rendered, source, &diagnostic, &[]);
        report.diagnostics.push(diagnostic);
    }
}

/// An error or warning in a header takes the place of the first of its notes that is in the user's text.
fn move_out_of_headers(diagnostics: &mut Vec<ClangDiagnostic>) {
    let mut index = 0;
    while index < diagnostics.len() {
        let is_primary = diagnostics[index].level != Level::Note;
        if is_primary && diagnostics[index].in_system_header {
            let note = diagnostics[index + 1..]
                .iter()
                .take_while(|next| next.level == Level::Note)
                .position(|next| next.file == SOURCE_NAME);
            if let Some(offset) = note {
                let note = diagnostics.remove(index + 1 + offset);
                let primary = &mut diagnostics[index];
                *primary =
                    ClangDiagnostic { level: primary.level, message: std::mem::take(&mut primary.message), ..note };
            }
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

fn render(output: &mut String, source: &str, diagnostic: &Diagnostic, ranges: &[Range<u32>]) {
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
    let Some(text) = usize::try_from(*line).ok().and_then(|line| source.split('\n').nth(line - 1)) else { return };
    output.push_str(text.trim_end_matches('\r'));
    output.push('\n');
    output.push_str(&caret_line(text.trim_end_matches('\r'), *column, ranges));
    output.push('\n');
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

/// Plain replacements, longest first where one contains another.
const WORDS: [(&str, &str); 25] = [
    ("const __global_host ", "constant "),
    ("__global_host const ", "constant "),
    ("__global_host ", "constant "),
    ("const __constant ", "constant "),
    ("__constant ", "constant "),
    ("__global_host", "constant"),
    ("__global ", "device "),
    ("__global", "device"),
    ("__local ", "threadgroup "),
    ("__local", "threadgroup"),
    ("__private ", "thread "),
    ("__generic ", ""),
    ("metal::packed_vec<", "packed_vec<"),
    ("metal::vec<", "vec<"),
    ("metal::matrix<", "matrix<"),
    ("_Float16", "half"),
    ("__bf16", "bfloat"),
    ("unsigned char", "uchar"),
    ("unsigned short", "ushort"),
    ("unsigned int", "uint"),
    ("unsigned long", "ulong"),
    ("'clang::sycl_external' attribute", "'kernel' attribute"),
    ("SYCL device code", "a Metal library"),
    ("SYCL kernel", "a Metal kernel"),
    ("::__air::cast", "static_cast"),
];

/// A message of clang in MSL's words.
fn metal_words(message: &str) -> String {
    let mut text = message.to_owned();
    for (from, to) in WORDS {
        if text.contains(from) {
            text = text.replace(from, to);
        }
    }
    for (template, prefix) in [("packed_vec<", "packed_"), ("vec<", ""), ("matrix<", "")] {
        text = replace_template(&text, template, prefix);
    }
    drop_repeated_aka(&text)
}

/// `vec<float, 4>` to `float4`, `matrix<half, 2, 3>` to `half2x3`.
fn replace_template(text: &str, template: &str, prefix: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(template) {
        let is_word_start = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let inside = &rest[at + template.len()..];
        let end = inside.find('>').filter(|_| is_word_start);
        let arguments: Option<Vec<&str>> = end.map(|end| inside[..end].split(',').map(str::trim).collect());
        match (end, arguments.as_deref()) {
            (Some(end), Some([element, extents @ ..])) if is_plain(element, extents) => {
                output.push_str(&rest[..at]);
                output.push_str(prefix);
                output.push_str(element);
                output.push_str(&extents.join("x"));
                rest = &inside[end + 1..];
            }
            _ => {
                output.push_str(&rest[..at + template.len()]);
                rest = inside;
            }
        }
    }
    output.push_str(rest);
    output
}

fn is_plain(element: &str, extents: &[&str]) -> bool {
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word(element) && !extents.is_empty() && extents.iter().all(|extent| extent.parse::<u32>().is_ok())
}

/// `'uint' (aka 'uint')` to `'uint'`.
fn drop_repeated_aka(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(" (aka '") {
        let inside = &rest[at + " (aka '".len()..];
        let Some(end) = inside.find("')") else { break };
        output.push_str(&rest[..at]);
        if !output.ends_with(&format!("'{}'", &inside[..end])) {
            output.push_str(&rest[at..at + " (aka '".len() + end + 2]);
        }
        rest = &inside[end + 2..];
    }
    output.push_str(rest);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_metal_names() {
        let message =
            "cannot convert 'const __global_host vec<float, 4> *' to '__global metal::matrix<_Float16, 2, 3> *'";
        assert_eq!(metal_words(message), "cannot convert 'constant float4 *' to 'device half2x3 *'");
        assert_eq!(metal_words("'uint' (aka 'unsigned int') and 'myvec<int, 2>'"), "'uint' and 'myvec<int, 2>'");
        assert_eq!(metal_words("'T' (aka 'unsigned int')"), "'T' (aka 'uint')");
        assert_eq!(metal_words("vec<"), "vec<");
    }

    #[test]
    fn carets_line_up_under_tabs_and_wide_characters() {
        assert_eq!(caret_line("\tab c", 3, std::slice::from_ref(&(2..4))), "\t~^");
        assert_eq!(caret_line("ä+b", 3, &[]), " ^");
        assert_eq!(caret_line("ab", 3, std::slice::from_ref(&(1..9))), "~~^");
    }
}
