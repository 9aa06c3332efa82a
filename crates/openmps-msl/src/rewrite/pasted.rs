//! Finds the library headers that PyTorch pastes in front of a kernel, always the same text: worth a precompiled header.
//!
//! Guarantee: what is found are whole lines that leave nothing open (no bracket, no conditional, no pragma's state) and hold no
//! kernel. Left out: pasted text behind anything else, such as a user's own macros or functions.

use super::stream::{SplitSource, Word};

/// Below this many lines a precompiled header gains nothing.
const LINE_COUNT_MIN: usize = 50;

/// How many lines at the start of `source` are pasted headers, if any are.
pub(super) fn line_count(split: &SplitSource<'_>, source: &str) -> Option<usize> {
    let end = namespaces_end(&split.code)?;
    let line_end = end + source[end..].find('\n')? + 1;
    // A comment may go on behind the brace, anything else may not.
    let rest = source[end..line_end].trim();
    let (text, lines) = (&source[..line_end], source[..line_end].matches('\n').count());
    let is_whole = (rest.is_empty() || rest.starts_with("//")) && leaves_nothing_open(text);
    (is_whole && lines >= LINE_COUNT_MIN).then_some(lines)
}

/// The byte behind the last of the namespaces `c10` that come first in the text, with nothing but `using` between.
fn namespaces_end(code: &[Word<'_>]) -> Option<usize> {
    let mut end = None;
    let mut index = 0;
    while let Some(word) = code.get(index) {
        let next = match word.text {
            "namespace" => namespace_close(code, index).filter(|close| !has_kernel(&code[index..*close])),
            "using" => code[index..].iter().position(|word| word.text == ";").map(|length| index + length),
            _ => None,
        };
        let Some(last) = next else { break };
        if word.text == "namespace" {
            end = Some(code[last].end);
        }
        index = last + 1;
    }
    end
}

/// The closing brace of the namespace `c10` or `c10::…` that begins at `index`.
fn namespace_close(code: &[Word<'_>], index: usize) -> Option<usize> {
    let open = index + code[index..].iter().take(8).position(|word| word.text == "{")?;
    let is_pasted = code.get(index + 1).is_some_and(|name| name.text == "c10");
    code[open].partner.filter(|close| is_pasted && *close > open)
}

/// Whether there is a kernel that is no template: its code belongs into the module, and the header has none.
fn has_kernel(code: &[Word<'_>]) -> bool {
    code.windows(2).any(|pair| matches!(pair[1].text, "kernel" | "host_name") && pair[0].text != ">")
}

/// Whether conditionals are closed and no pragma but those of loops is there.
fn leaves_nothing_open(text: &str) -> bool {
    let mut depth = 0usize;
    for line in text.lines() {
        let Some(directive) = line.trim_start().strip_prefix('#').map(str::trim_start) else { continue };
        if directive.starts_with("if") {
            depth += 1;
        } else if directive.starts_with("endif") {
            let Some(outer) = depth.checked_sub(1) else { return false };
            depth = outer;
        } else if let Some(pragma) = directive.strip_prefix("pragma")
            && !matches!(pragma.trim(), "unroll" | "once")
        {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::super::stream::split;
    use super::*;

    fn lines(source: &str) -> Option<usize> {
        line_count(&split(source), source)
    }

    const FILL: &str = "// line\n";

    #[test]
    fn pasted_namespaces_end_where_the_users_text_begins() {
        let header = format!("#include <metal_stdlib>\n{}namespace c10 {{\nint a;\n}} // c10\n", FILL.repeat(50));
        let kernel = "kernel void f() {}\n";
        assert_eq!(lines(&format!("{header}{kernel}")), Some(54));
        assert_eq!(lines(&format!("{header}using namespace metal;\n{header}{kernel}{header}")), Some(109));
        assert_eq!(lines(&format!("{header}namespace mine {{}}\n{kernel}")), Some(54));
        let template = header.replace("int a;", "template <class T> kernel void g(device T* x) {}");
        assert_eq!(lines(&format!("{template}{kernel}")), Some(54));
    }

    #[test]
    fn what_is_left_open_or_is_not_only_pasted_is_left_alone() {
        let header = format!("{}namespace c10 {{\nint a;\n}}\n", FILL.repeat(50));
        for source in [
            kernel_first(&header),
            "namespace c10 {\n}\n".to_owned(),
            header.replace("int a;", "kernel void g() {}"),
            header.replace("int a;", "[[host_name(\"g\")]] void g() {}"),
            format!("#if 1\n{header}#endif\n"),
            format!("#pragma clang fp contract(off)\n{header}"),
            header.replace("}\n", "} int b;\n"),
            header.replace("}\n", ""),
            header.replace("c10", "c11"),
        ] {
            assert_eq!(lines(&source), None, "{source}");
        }
    }

    fn kernel_first(header: &str) -> String {
        format!("kernel void f() {{}}\n{header}")
    }
}
