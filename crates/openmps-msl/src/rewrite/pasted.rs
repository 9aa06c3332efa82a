//! Finds the library headers that PyTorch pastes in front of a kernel, always the same text: worth a precompiled header.
//!
//! Guarantee: what is found are whole lines that leave nothing open (no namespace, no conditional, no pragma's state) and hold no
//! kernel. Whether another text begins with the same lines is a matter of luck and of PyTorch; nothing depends on it but time.

use super::stream::{SplitSource, Word};

/// Below this many lines a precompiled header gains nothing.
const LINE_COUNT_MIN: usize = 50;

/// How many lines at the start of `source` are pasted headers, if any are.
///
/// They begin with the text, end with a namespace `c10` and the `#endif`s behind it, and have much between that is meant for
/// other compilers: PyTorch pastes without looking at conditions.
pub(super) fn line_count(split: &SplitSource<'_>, source: &str) -> Option<usize> {
    let end = namespaces_end(&split.code)?;
    let line_end = end + source[end..].find('\n')? + 1;
    // A comment may go on behind the brace, anything else may not.
    let rest = source[end..line_end].trim();
    if !rest.is_empty() && !rest.starts_with("//") {
        return None;
    }
    let mut depth = open_conditionals(&source[..line_end])?;
    let mut whole = line_end;
    for line in source[line_end..].split_inclusive('\n') {
        if depth == 0 {
            break;
        }
        match line.trim_start() {
            "" => {}
            text if ["//", "#else", "#error"].iter().any(|start| text.starts_with(start)) => {}
            text if text.starts_with("#endif") && line.ends_with('\n') => depth -= 1,
            _ => return None,
        }
        whole += line.len();
    }
    let lines = source[..whole].matches('\n').count();
    (depth == 0 && lines >= LINE_COUNT_MIN).then_some(lines)
}

/// The byte behind the last namespace `c10` before the first kernel, in a text that begins with one (or with `using`).
fn namespaces_end(code: &[Word<'_>]) -> Option<usize> {
    let begins = matches!(code, [first, ..] if first.text == "using") || is_pasted_namespace(code, 0);
    let kernel = (0..code.len()).find(|index| is_kernel(code, *index)).unwrap_or(code.len());
    let mut end = None;
    let mut index = 0;
    while begins && index < kernel {
        let close = if is_pasted_namespace(code, index) { namespace_close(code, index) } else { None };
        match close.filter(|close| *close < kernel) {
            Some(close) => {
                end = Some(code[close].end);
                index = close + 1;
            }
            None => index += 1,
        }
    }
    end
}

fn is_pasted_namespace(code: &[Word<'_>], index: usize) -> bool {
    matches!(code.get(index..index + 2), Some([word, name]) if word.text == "namespace" && name.text == "c10")
}

/// The closing brace of the namespace `c10` or `c10::…` that begins at `index`.
fn namespace_close(code: &[Word<'_>], index: usize) -> Option<usize> {
    let open = index + code[index..].iter().take(8).position(|word| word.text == "{")?;
    code[open].partner.filter(|close| *close > open)
}

/// Whether a kernel is declared that is no template: its code belongs into the module, and a header has none.
fn is_kernel(code: &[Word<'_>], index: usize) -> bool {
    let before = index.checked_sub(1).map_or("", |before| code[before].text);
    matches!(code[index].text, "kernel" | "host_name") && before != ">"
}

/// How many conditionals `text` leaves open; none where it closes more than it opens, or has a pragma whose effect lasts.
fn open_conditionals(text: &str) -> Option<usize> {
    const LASTING: [&str; 7] =
        ["METAL", "STDC", "pack", "float_control", "clang fp", "clang optimize", "clang attribute"];
    let mut depth = 0usize;
    for line in text.lines() {
        let Some(directive) = line.trim_start().strip_prefix('#').map(str::trim_start) else { continue };
        if directive.starts_with("if") {
            depth += 1;
        } else if directive.starts_with("endif") {
            depth = depth.checked_sub(1)?;
        } else if let Some(pragma) = directive.strip_prefix("pragma").map(str::trim)
            && LASTING.iter().any(|start| pragma.starts_with(start))
        {
            return None;
        }
    }
    Some(depth)
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
        let guarded =
            format!("#include <metal_stdlib>\n#if 1\n{}namespace c10 {{\nint a;\n}} // c10\n", FILL.repeat(50));
        let guard_end = "#else\n#error \"not here\"\n#endif\n";
        assert_eq!(lines(&format!("{guarded}{guard_end}{kernel}")), Some(58));
        assert_eq!(lines(&format!("{guarded}#else\nint b;\n#endif\n{kernel}")), None);
        assert_eq!(lines(&format!("{header}{kernel}")), Some(54));
        assert_eq!(lines(&format!("{header}using namespace metal;\n{header}{kernel}{header}")), Some(109));
        assert_eq!(lines(&format!("{header}namespace mine {{}}\n{kernel}")), Some(54));
        let guarded = format!("#if 1\n{header}\n#endif // 1\n{kernel}");
        assert_eq!(lines(&guarded), Some(57));
        let host = header.replace("namespace c10", "#if 0\nint host() { return 1; }\n#endif\nnamespace c10");
        assert_eq!(lines(&format!("{header}{host}{kernel}")), Some(111));
        let template = header.replace("int a;", "template <class T> kernel void g(device T* x) {}");
        assert_eq!(lines(&format!("{template}{kernel}")), Some(54));
    }

    #[test]
    fn what_is_left_open_or_is_not_only_pasted_is_left_alone() {
        let header = format!("{}namespace c10 {{\nint a;\n}}\n", FILL.repeat(50));
        for source in [
            kernel_first(&header),
            "namespace c10 {\n}\n".to_owned(),
            header.replace("int a;", "int a; kernel void g() {}"),
            header.replace("int a;", "[[host_name(\"g\")]] void g() {}"),
            format!("#if 1\n{header}int a;\n#endif\n"),
            format!("int a;\n{header}"),
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
