//! Edits to the user's text, collected in any order and applied once, with a map from new columns to old ones.
//!
//! Removing or replacing text keeps its line breaks, so the number of lines never changes.

use std::ops::Range;

/// Which of several edits at one place comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// Closes something before it.
    After,
    /// Opens something after it.
    Before,
    /// Takes text away.
    Replace,
}

#[derive(Clone, Debug)]
struct Edit {
    range: Range<usize>,
    order: Order,
    text: String,
    /// What line breaks of the removed text become.
    newline: &'static str,
}

/// Edits to one text.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    edits: Vec<Edit>,
    /// Whether the text being edited is the body of a `#define`, where a line break needs a backslash.
    pub in_macro: bool,
}

impl Edits {
    /// Inserts before what starts at byte `position`.
    pub(crate) fn insert_before(&mut self, position: usize, text: impl Into<String>) {
        self.push(position..position, Order::Before, text.into());
    }

    /// Inserts after what ends at byte `position`.
    pub(crate) fn insert_after(&mut self, position: usize, text: impl Into<String>) {
        self.push(position..position, Order::After, text.into());
    }

    /// Replaces `range`; edits inside it are lost.
    pub(crate) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.push(range, Order::Replace, text.into());
    }

    /// Removes `range` but for its line breaks; edits inside it are lost.
    pub(crate) fn remove(&mut self, range: Range<usize>) {
        self.replace(range, "");
    }

    fn push(&mut self, range: Range<usize>, order: Order, text: String) {
        let newline = if self.in_macro { "\\\n" } else { "\n" };
        self.edits.push(Edit { range, order, text, newline });
    }

    /// The edited text, and where its columns come from.
    pub(crate) fn apply(mut self, source: &str) -> (String, ColumnMap) {
        // A longer removal at the same place comes first and swallows the shorter one.
        self.edits.sort_by_key(|edit| (edit.range.start, edit.order, std::cmp::Reverse(edit.range.end)));
        let mut output = Output { text: String::with_capacity(source.len() * 5 / 4), ..Output::default() };
        let mut position = 0;
        for edit in &self.edits {
            let closes_removed = edit.order == Order::After && edit.range.start == position;
            if edit.range.start < position && !closes_removed {
                continue;
            }
            output.copy(source, position..edit.range.start);
            output.insert(source, edit);
            position = position.max(edit.range.end);
        }
        output.copy(source, position..source.len());
        (output.text, output.columns)
    }
}

#[derive(Default)]
struct Output {
    text: String,
    columns: ColumnMap,
    line: usize,
    line_start: usize,
    source_line_start: usize,
}

impl Output {
    fn copy(&mut self, source: &str, range: Range<usize>) {
        let mut start = range.start;
        while start < range.end {
            let end = source[start..range.end].find('\n').map_or(range.end, |at| start + at + 1);
            self.mark(start, true);
            self.text.push_str(&source[start..end]);
            if source[start..end].ends_with('\n') {
                self.next_line(end);
            }
            start = end;
        }
    }

    fn insert(&mut self, source: &str, edit: &Edit) {
        self.mark(edit.range.start, false);
        self.text.push_str(&edit.text);
        let removed = &source[edit.range.clone()];
        for (at, _) in removed.match_indices('\n') {
            self.text.push_str(edit.newline);
            self.next_line(edit.range.start + at + 1);
        }
    }

    fn next_line(&mut self, source_line_start: usize) {
        self.line += 1;
        self.line_start = self.text.len();
        self.source_line_start = source_line_start;
    }

    fn mark(&mut self, source_position: usize, is_copied: bool) {
        let segment = Segment {
            line: self.line,
            column: self.text.len() - self.line_start,
            source_column: source_position - self.source_line_start,
            is_copied,
        };
        self.columns.push(segment);
    }
}

/// From here on a line's columns come from `source_column` on.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// From 0.
    line: usize,
    /// From 0, in the new text.
    column: usize,
    /// From 0, in the user's text.
    source_column: usize,
    /// Copied text moves along; inserted text stands for one place.
    is_copied: bool,
}

/// Maps columns of the rewritten text to the user's text. Lines are the same.
#[derive(Clone, Debug, Default)]
pub struct ColumnMap {
    /// Sorted by line and column; only lines that differ.
    segments: Vec<Segment>,
}

impl ColumnMap {
    /// The user's column for `column` of `line`, all from 1.
    #[must_use]
    pub fn source_column(&self, line: u32, column: u32) -> u32 {
        let (Ok(row), Ok(offset)) =
            (usize::try_from(line.saturating_sub(1)), usize::try_from(column.saturating_sub(1)))
        else {
            return column;
        };
        let end = self.segments.partition_point(|segment| (segment.line, segment.column) <= (row, offset));
        match end.checked_sub(1).map(|last| self.segments[last]) {
            Some(segment) if segment.line == row => {
                let moved = if segment.is_copied { offset - segment.column } else { 0 };
                u32::try_from(segment.source_column + moved + 1).unwrap_or(u32::MAX)
            }
            _ => column,
        }
    }

    fn push(&mut self, segment: Segment) {
        let is_first = self.segments.last().is_none_or(|last| last.line != segment.line);
        if is_first && segment.is_copied && segment.column == segment.source_column {
            return;
        }
        self.segments.push(segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_keeps_lines_and_swallows_what_is_inside() {
        let mut edits = Edits::default();
        edits.insert_before(3, "lost");
        edits.remove(1..6);
        edits.insert_after(6, ")");
        let (text, _) = edits.apply("ab\nc\ndef");
        assert_eq!(text, "a\n\n)ef");
    }

    #[test]
    fn order_at_one_place_is_close_open_replace() {
        let mut edits = Edits::default();
        edits.replace(1..2, "R");
        edits.insert_before(1, "(");
        edits.insert_after(1, ")");
        assert_eq!(edits.apply("abc").0, "a)(Rc");
    }

    #[test]
    fn columns_map_back() {
        let mut edits = Edits::default();
        edits.insert_before(2, "new");
        edits.replace(4..6, "Y");
        let (text, columns) = edits.apply("abcdefgh\nij");
        assert_eq!(text, "abnewcdYgh\nij");
        let mapped: Vec<u32> = (1..=10).map(|column| columns.source_column(1, column)).collect();
        assert_eq!(mapped, [1, 2, 3, 3, 3, 3, 4, 5, 7, 8]);
        assert_eq!(columns.source_column(2, 2), 2);
    }

    #[test]
    fn macro_bodies_keep_their_backslashes() {
        let mut edits = Edits { in_macro: true, ..Edits::default() };
        edits.remove(1..4);
        assert_eq!(edits.apply("a\\\nbc").0, "a\\\nc");
    }
}
