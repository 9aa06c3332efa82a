//! The rewriter of Metal source on any text: it ends, keeps the number of lines, and maps every column of its text into the
//! user's line.

use openmps_msl::rewrite::rewrite;

/// Words that its rules look for.
pub const WORDS: &[&[u8]] = &[
    b"kernel ",
    b"[[buffer(",
    b"[[kernel]]",
    b"[[host_name(\"",
    b"]]",
    b"threadgroup ",
    b"constant ",
    b"device ",
    b"template <typename T>",
    b"template ",
    b"decltype(",
    b"struct A {",
    b"function_constant(0)",
    b"half(1)",
    b"bfloat",
    b"1.0h",
    b"0x1p-3f",
    b" ? ",
    b" : ",
    b"#define F(x) ",
    b"#pragma METAL fp ",
    b"\\\n",
    b"/*",
    b"*/",
    b"//",
    b"R\"x(",
    b")x\"",
    b"'\\''",
    b"\r\n",
    b"using namespace ",
    b"operator()",
];

/// Rewrites `input` as text; bytes that are no UTF-8 become U+FFFD first, since sources are text.
///
/// # Panics
/// When lines are gained or lost, or a column maps outside of its line.
pub fn run(input: &[u8]) {
    let source = String::from_utf8_lossy(input);
    let rewritten = rewrite(&source);
    let lines = source.matches('\n').count();
    assert_eq!(rewritten.text.matches('\n').count(), lines, "lines of {source:?}");
    for (number, (new, old)) in (1u32..).zip(rewritten.text.split('\n').zip(source.split('\n'))) {
        // Every column of a short line; the ends of a long one, since the map searches its edits for each.
        let last = u32::try_from(new.len() + 1).expect("inputs are far below 4 GiB");
        for column in (1..=last.min(256)).chain(last.saturating_sub(8).max(1)..=last) {
            let mapped = rewritten.columns.source_column(number, column);
            let is_inside = mapped >= 1 && mapped as usize <= old.len() + 1;
            assert!(is_inside, "line {number} column {column} maps to {mapped} of {old:?}");
        }
    }
    for warning in &rewritten.warnings {
        let line = usize::try_from(warning.line).expect("a u32 fits");
        assert!(line <= lines + 1, "a warning at line {line} of {}", lines + 1);
    }
}
