//! A source text with what can be said of its lines.

use std::collections::BTreeMap;

use serde::Serialize;

/// A source and its marks.
#[derive(Serialize)]
pub(super) struct Source {
    text: String,
    /// What stands on a line, by line from 1.
    marks: BTreeMap<usize, Vec<&'static str>>,
}

/// Words of Metal and what they mean for speed; a name that ends in `_` stands for all that begin so.
const WORDS: &[(&str, &str)] = &[
    ("threadgroup_barrier", "barrier"),
    ("simdgroup_barrier", "barrier"),
    ("atomic_", "atomic"),
    ("simd_", "SIMD-group"),
    ("simdgroup_load", "SIMD-group"),
    ("simdgroup_store", "SIMD-group"),
    ("simdgroup_multiply", "SIMD-group"),
    ("simdgroup_multiply_accumulate", "SIMD-group"),
    ("quad_", "SIMD-group"),
    ("for", "loop"),
    ("while", "loop"),
    ("do", "loop"),
];

impl Source {
    pub(super) fn new(text: String) -> Self {
        let mut marks = BTreeMap::new();
        let mut in_comment = false;
        for (number, line) in (1..).zip(text.lines()) {
            let code = code_of(line, &mut in_comment);
            let mut found: Vec<&'static str> = Vec::new();
            for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
                let mark =
                    WORDS.iter().find(|(name, _)| word == *name || (name.ends_with('_') && word.starts_with(name)));
                if let Some((_, mark)) = mark.filter(|(_, mark)| !found.contains(mark)) {
                    found.push(mark);
                }
            }
            if !found.is_empty() {
                marks.insert(number, found);
            }
        }
        Self { text, marks }
    }

    /// The line on which the kernel `name` is defined or, for instances of templates, given its name.
    pub(super) fn line_of(&self, name: &str) -> Option<usize> {
        let has_word = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        let lines = || (1..).zip(self.text.lines()).filter(|(_, line)| has_word(line));
        let is_definition = |line: &str| line.contains("kernel") || line.contains("host_name");
        let found = lines().find(|(_, line)| is_definition(line)).or_else(|| lines().next());
        found.map(|(number, _)| number)
    }
}

/// The line without comments; `in_comment` says whether a comment reaches into it, and afterwards out of it.
fn code_of(line: &str, in_comment: &mut bool) -> String {
    let mut code = String::new();
    let mut rest = line;
    loop {
        if *in_comment {
            let Some((_, behind)) = rest.split_once("*/") else { return code };
            (*in_comment, rest) = (false, behind);
        }
        match (rest.find("//"), rest.find("/*")) {
            (Some(end), block) if block.is_none_or(|block| end < block) => return code + &rest[..end],
            (_, Some(start)) => {
                code.push_str(&rest[..start]);
                code.push(' ');
                (*in_comment, rest) = (true, &rest[start + 2..]);
            }
            _ => return code + rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked_and_kernels_found() {
        let text = "// for ever\nkernel void add_one(device int* x) {\n  for (;;) simd_sum(x); /* while\n  atomic_fetch */ \
                    threadgroup_barrier(0); atomic_store(x);\n}\ntemplate [[host_name(\"f16\")]] kernel void k<half>();\n";
        let source = Source::new(text.into());
        assert_eq!(source.marks, BTreeMap::from([(3, vec!["loop", "SIMD-group"]), (4, vec!["barrier", "atomic"])]));
        assert_eq!((source.line_of("add_one"), source.line_of("f16"), source.line_of("add")), (Some(2), Some(6), None));
    }
}
