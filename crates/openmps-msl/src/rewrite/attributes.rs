//! Rules 1, 2, 3 and 6: Metal's attributes, the `kernel` keyword, function constants.
//!
//! A Metal attribute becomes `clang::annotate("air.NAME", ARGUMENTS)`, which the bridge reads from clang's AST; on an
//! explicit instantiation, where C++ allows no `[[…]]`, the same as `__attribute__((annotate(…)))`.

use openmps_engine::{Diagnostic, Severity};

use crate::limits::WARNING_COUNT_MAX;

use super::lexer::TokenKind;
use super::stream::{Stream, Word};
use super::walker::Walker;

/// `sycl_external` makes clang emit the function; `used` does not.
const KERNEL: &str = "clang::sycl_external, clang::annotate(\"air.kernel\")";

/// Attributes of C++ and clang that stay as they are.
const STANDARD: [&str; 11] = [
    "maybe_unused",
    "nodiscard",
    "noreturn",
    "fallthrough",
    "deprecated",
    "likely",
    "unlikely",
    "no_unique_address",
    "carries_dependency",
    "unroll",
    "using",
];

/// Attributes without meaning in a compute kernel: ids of argument buffers (whose layout is the C layout in field
/// order), and those of vertex and fragment functions, which compile beside kernels and cannot be called.
const DROPPED: [&str; 29] = [
    "id",
    "position",
    "user",
    "color",
    "attribute",
    "vertex",
    "fragment",
    "stage_in",
    "vertex_id",
    "instance_id",
    "base_vertex",
    "base_instance",
    "point_size",
    "point_coord",
    "clip_distance",
    "front_facing",
    "primitive_id",
    "sample_id",
    "sample_mask",
    "depth",
    "index",
    "barycentric_coord",
    "render_target_array_index",
    "viewport_array_index",
    "early_fragment_tests",
    "flat",
    "invariant",
    "center_perspective",
    "center_no_perspective",
];

/// Attributes of compute that Metal knows; another name gets a warning.
const METAL: [&str; 32] = [
    "kernel",
    "host_name",
    "buffer",
    "texture",
    "sampler",
    "threadgroup",
    "function_constant",
    "max_total_threads_per_threadgroup",
    "visible",
    "stitchable",
    "intersection",
    "required_threads_per_threadgroup",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "thread_index_in_quadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
    "threads_per_simdgroup",
    "thread_execution_width",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "dispatch_quadgroups_per_threadgroup",
    "grid_origin",
    "grid_size",
];

impl<'a> Walker<'a> {
    /// If an attribute list starts at `index`, rewrites it and returns the index behind it.
    pub(crate) fn attribute_list(&mut self, stream: &Stream<'a>, index: usize) -> Option<usize> {
        let last = attribute_list_end(stream, index)?;
        let inner = index + 2..last - 1;
        let is_function_constant = stream.get(inner.start).is_some_and(|word| word.text == "function_constant");
        if is_function_constant && self.paren_depth == 0 && !self.in_function() {
            self.function_constant(stream, index, last);
        } else {
            self.rewrite_list(stream, index, last);
        }
        self.statement.push_attributes(stream[index].start);
        Some(last + 1)
    }

    /// `TYPE NAME [[function_constant(INDEX)]]` gets what the host sets as its initial value.
    fn function_constant(&mut self, stream: &Stream<'a>, first: usize, last: usize) {
        let open = first + 3;
        let close = stream.get(open).filter(|word| word.text == "(").and_then(|_| stream[open].partner);
        let name = first.checked_sub(1).map(|before| stream[before].text);
        let (Some(close), Some(name)) = (close.filter(|close| *close < last), name) else {
            self.rewrite_list(stream, first, last);
            return;
        };
        let call = format!("= ::metal::__function_constant<::metal::__d::plain<decltype({name})>>(");
        self.edits.replace(stream[first].start..stream[open].end, call);
        self.edits.replace(stream[close].start..stream[last].end, ")");
    }

    fn rewrite_list(&mut self, stream: &Stream<'a>, first: usize, last: usize) {
        if self.in_instantiation {
            self.edits.replace(stream[first].start..stream[first + 1].end, " __attribute__((");
            self.edits.replace(stream[last - 1].start..stream[last].end, "))");
        }
        let mut start = first + 2;
        while start < last - 1 {
            let end = part_end(stream, start, last - 1);
            self.rewrite_attribute(&stream[start..end], stream, start);
            if end < last - 1 && self.in_instantiation {
                self.edits.replace(stream[end].start..stream[end].end, ")) __attribute__((");
            }
            start = end + 1;
        }
    }

    /// Rewrites one attribute: a name, and perhaps arguments in parentheses.
    fn rewrite_attribute(&mut self, part: &[Word<'a>], stream: &Stream<'a>, start: usize) {
        let [name, rest @ ..] = part else { return };
        if name.kind != TokenKind::Identifier {
            return;
        }
        let is_scoped = rest.first().is_some_and(|word| word.text == "::");
        if is_scoped || STANDARD.contains(&name.text) {
            if self.in_instantiation {
                self.edits.remove(name.start..part[part.len() - 1].end);
            }
            return;
        }
        if DROPPED.contains(&name.text) {
            self.edits.remove(name.start..part[part.len() - 1].end);
            return;
        }
        if !METAL.contains(&name.text) {
            self.warn(name.start, format!("unknown attribute '{}' ignored", name.text));
        }
        let annotate = if self.in_instantiation { "annotate" } else { "clang::annotate" };
        if name.text == "kernel" {
            let text = if self.in_instantiation { "annotate(\"air.kernel\")" } else { KERNEL };
            self.edits.replace(name.start..name.end, text);
            return;
        }
        self.edits.replace(name.start..name.end, format!("{annotate}(\"air.{}\"", name.text));
        let open = rest.first().filter(|word| word.text == "(");
        let close = open.and_then(|_| stream[start + 1].partner).filter(|close| *close < start + part.len());
        match (open, close) {
            (Some(open), Some(close)) if close > start + 2 => {
                // A parameter's gate is a variable, whose value is no constant expression while its address is.
                let is_gate = name.text == "function_constant" && self.paren_depth > 0;
                let separator = if is_gate { ", &" } else { ", " };
                self.edits.replace(open.start..open.end, separator);
            }
            (Some(open), Some(_)) => self.edits.remove(open.start..open.end),
            _ => self.edits.insert_after(name.end, ")"),
        }
    }

    /// Rule 3: the keyword `kernel`.
    pub(crate) fn kernel_keyword(&mut self, stream: &Stream<'a>, index: usize) -> Option<usize> {
        let word = stream[index];
        if matches!(self.statement.last(), "." | "->" | "::") || self.paren_depth > 0 {
            return None;
        }
        let before = self.statement.declaration().iter().find(|part| part.text != "]]").copied();
        // What ends in `)` before the keyword is a macro's call, which leaves no `;` or `}` in the text.
        let before = before.filter(|first| first.text == "__attribute__" || self.statement.last() != ")");
        if self.in_instantiation {
            self.edits.replace(word.start..word.end, " __attribute__((annotate(\"air.kernel\")))");
        } else if let Some(first) = before {
            self.edits.insert_before(first.start, format!("[[{KERNEL}]] "));
            self.edits.remove(word.start..word.end);
        } else {
            self.edits.replace(word.start..word.end, format!("[[{KERNEL}]]"));
        }
        self.statement.push_attributes(word.start);
        Some(index + 1)
    }

    fn warn(&mut self, position: usize, message: String) {
        // Finding a line costs a look at all text before it.
        if self.warnings.len() >= WARNING_COUNT_MAX {
            return;
        }
        let before = &self.source[..position];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = position - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        self.warnings.push(Diagnostic {
            severity: Severity::Warning,
            file: super::SOURCE_NAME.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            message,
        });
    }
}

/// The index of the last `]` of an attribute list that starts at `index`.
pub(crate) fn attribute_list_end(stream: &Stream<'_>, index: usize) -> Option<usize> {
    let (outer, inner) = (stream.get(index)?, stream.get(index + 1)?);
    if outer.text != "[" || inner.text != "[" || outer.end != inner.start {
        return None;
    }
    let (outer_close, inner_close) = (outer.partner?, inner.partner?);
    (inner_close + 1 == outer_close && outer_close > index).then_some(outer_close)
}

/// The index of the comma that ends the attribute at `start`, or `end`.
fn part_end(stream: &Stream<'_>, start: usize, end: usize) -> usize {
    let mut index = start;
    while index < end && stream[index].text != "," {
        index = match stream[index].partner {
            Some(partner) if partner > index => partner + 1,
            _ => index + 1,
        };
    }
    index.min(end)
}
