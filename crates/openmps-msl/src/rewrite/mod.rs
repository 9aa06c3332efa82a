//! Turns MSL into what stock clang understands, token by token, line by line.
//!
//! Guarantees: the number of lines never changes; columns map back through [`ColumnMap`]; the work is linear in the
//! text; any text is accepted, and what is not valid MSL is left for clang to reject. Left out: parsing. Address-space
//! words need no rule, they are macros of the library header.
//!
//! The rules, with the files that hold them: attributes, explicit instantiations, `kernel`, function constants
//! (`attributes`); objects in threadgroup and constant memory, member qualifiers, array parameters (`declarations`);
//! literals, conditional operands, casts between `half` and `bfloat` (`expressions`); `#pragma METAL` (here). A text that
//! clang rejects for certain reasons is rewritten once more, with the rules of `thorough`.

mod attributes;
mod declarations;
mod edits;
mod expressions;
mod lexer;
mod pasted;
mod statement;
mod stream;
#[cfg(test)]
mod tests;
pub(crate) mod thorough;
mod walker;

use openmps_engine::Diagnostic;

pub use edits::ColumnMap;

use stream::{Directive, SplitSource, Stream, split};
use walker::Walker;

/// The name that Metal gives to a source string, in messages and `__FILE__`.
pub const SOURCE_NAME: &str = "program_source";

/// A rewritten text.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// What clang gets to see.
    pub text: String,
    /// Where its columns come from.
    pub columns: ColumnMap,
    /// Messages of the rewriter, in the user's coordinates.
    pub warnings: Vec<Diagnostic>,
    /// How many lines at the start are headers that PyTorch pasted there, worth a precompiled header of their own.
    pub pasted_line_count: Option<usize>,
    /// Whether a pragma forbids, in some part of the text, to fuse products and sums.
    pub forbids_contraction: bool,
}

/// Rewrites `source`.
#[must_use]
pub fn rewrite(source: &str) -> Rewritten {
    let split = split(source);
    rewrite_split(source, &split, Walker::new(source))
}

/// Rewrites `source` with the rules of `thorough` too.
#[must_use]
pub fn rewrite_thoroughly(source: &str) -> Rewritten {
    let split = split(source);
    let mut walker = Walker::new(source);
    walker.type_names = thorough::type_names(&split.code);
    thorough::wrap_swizzles(&split.code, &mut walker.edits, source);
    // The pasted headers too are rewritten in a way that nothing precompiled has.
    Rewritten { pasted_line_count: None, ..rewrite_split(source, &split, walker) }
}

fn rewrite_split<'a>(source: &'a str, split: &SplitSource<'a>, mut walker: Walker<'a>) -> Rewritten {
    let pasted_line_count = pasted::line_count(split, source);
    let mut position = 0;
    for (behind, directive) in &split.directives {
        position = walker.walk(&split.code, position, *behind);
        match directive {
            Directive::Define(body) => {
                walker.walk_macro(body);
                walker.edits.in_macro = true;
                expressions::wrap_conditional_operands(body, &mut walker.edits);
                walker.edits.in_macro = false;
            }
            Directive::MetalPragma(line) => metal_pragma(line, &mut walker),
            Directive::ClangPragma(_) => {}
        }
    }
    walker.walk(&split.code, position, split.code.len());
    expressions::wrap_conditional_operands(&split.code, &mut walker.edits);
    let Walker { edits, warnings, .. } = walker;
    let (text, columns) = edits.apply(source);
    let forbids_contraction = split.directives.iter().any(|(_, directive)| forbids_contraction(directive));
    Rewritten { text, columns, warnings, pasted_line_count, forbids_contraction }
}

/// Whether a directive says `fp contract(off)`.
fn forbids_contraction(directive: &Directive<'_>) -> bool {
    let (Directive::MetalPragma(line) | Directive::ClangPragma(line)) = directive else { return false };
    let texts: Vec<&str> = line.iter().map(|word| word.text).collect();
    texts[3..] == ["fp", "contract", "(", "off", ")"]
}

/// `#pragma METAL fp …` has a counterpart in clang; any other is commented out.
///
/// Math modes are those of the compile option (MSL 1.6.3): safe allows contraction within a statement, relaxed and fast allow
/// it everywhere, and reassociation, reciprocals and the other sign of a zero. They do not choose functions.
fn metal_pragma(line: &Stream<'_>, walker: &mut Walker<'_>) {
    let texts: Vec<&str> = line.iter().map(|word| word.text).collect();
    let metal = &line[2];
    let from_metal = metal.start..line[line.len() - 1].end;
    match texts[3..] {
        ["fp", "contract", "(", "off" | "on" | "fast", ")"] => walker.edits.replace(metal.start..metal.end, "clang"),
        ["fp", "math_mode", "(", "safe", ")"] => walker.edits.replace(from_metal, "float_control(precise, on)"),
        ["fp", "math_mode", "(", "relaxed" | "fast", ")"] => {
            walker.edits.replace(from_metal, "float_control(precise, off)");
        }
        _ => walker.edits.insert_before(line[0].start, "//"),
    }
}
