//! Rules that are applied to a text only when clang has rejected it without them: they change much and are rarely needed.
//!
//! - A cast to a template parameter or a type alias, `T(x)` and `(T)x`, may be one between `half` and `bfloat`.
//! - A swizzle is a property of clang's, which an operator in a template takes for something that it cannot overload once
//!   the user's code declares operators of its own: it becomes a value, and `v.xy op= x` becomes `v.xy = v.xy op (x)`.

use std::collections::HashSet;

use super::edits::Edits;
use super::lexer::TokenKind;
use super::stream::Stream;
use super::walker::LOOKAHEAD_WORDS_MAX;

/// Which of clang's messages these rules may help against.
pub(crate) fn may_help(message: &str) -> bool {
    let is_cast = message.contains("cast from ") && message.ends_with("is not allowed");
    is_cast || message.starts_with("invalid operands to binary expression")
}

/// Names of template parameters and type aliases, wherever they are declared.
pub(crate) fn type_names<'a>(stream: &Stream<'a>) -> HashSet<&'a str> {
    let text = |index: usize| stream.get(index).map_or("", |word| word.text);
    let mut names = HashSet::new();
    for (index, word) in stream.iter().enumerate() {
        let name = match word.text {
            "typename" | "class" if matches!(text(index + 2), "," | ">" | "=") => text(index + 1),
            "using" if text(index + 2) == "=" => text(index + 1),
            ";" if index >= 2 && (2..6).any(|back| index >= back && text(index - back) == "typedef") => text(index - 1),
            _ => continue,
        };
        if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            names.insert(name);
        }
    }
    names
}

/// Makes values of swizzles.
pub(crate) fn wrap_swizzles(stream: &Stream<'_>, edits: &mut Edits, source: &str) {
    for (index, word) in stream.iter().enumerate() {
        if !is_swizzle(word.text) || index == 0 || !matches!(stream[index - 1].text, "." | "->") {
            continue;
        }
        let Some(start) = chain_start(stream, index - 1) else { continue };
        let next = stream.get(index + 1).map_or("", |word| word.text);
        if let Some(operator) = compound_operator(next) {
            let Some(end) = statement_end(stream, index + 2) else { continue };
            let target = &source[stream[start].start..word.end];
            // What would have to be evaluated twice.
            if target.contains(['(', '\n']) || target.contains("++") || target.contains("--") {
                continue;
            }
            let assignment = &stream[index + 1];
            edits.replace(assignment.start..assignment.end, format!("= ::__air::rv({target}) {operator} ("));
            edits.insert_after(stream[end - 1].end, ")");
        } else if !matches!(next, "=" | "++" | "--" | "(" | "." | "->" | "[") {
            edits.insert_before(stream[start].start, "::__air::rv(");
            edits.insert_after(word.end, ")");
        }
    }
}

/// Two to four letters of one set of component names.
fn is_swizzle(text: &str) -> bool {
    (2..=4).contains(&text.len()) && ["xyzw", "rgba"].iter().any(|set| text.chars().all(|letter| set.contains(letter)))
}

fn compound_operator(text: &str) -> Option<&str> {
    let is_assignment = matches!(text, "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=");
    is_assignment.then(|| &text[..text.len() - 1])
}

/// The index of the first word of the names, members, subscripts and calls in front of the `.` at `dot`.
fn chain_start(stream: &Stream<'_>, dot: usize) -> Option<usize> {
    let mut index = dot;
    for _ in 0..LOOKAHEAD_WORDS_MAX {
        // The operand that ends before `index`.
        let mut start = index.checked_sub(1)?;
        while matches!(stream[start].text, "]" | ")") {
            let open = stream[start].partner.filter(|open| *open < start)?;
            let before = open.checked_sub(1)?;
            let goes_on = matches!(stream[before].text, "]" | ")") || stream[before].kind == TokenKind::Identifier;
            if !goes_on || is_keyword(stream[before].text) {
                return (stream[before].text != ">").then_some(open);
            }
            start = before;
        }
        if stream[start].kind != TokenKind::Identifier {
            return None;
        }
        let before = start.checked_sub(1).map_or("", |before| stream[before].text);
        if !matches!(before, "." | "->" | "::") {
            return Some(start);
        }
        index = start - 1;
    }
    None
}

fn is_keyword(text: &str) -> bool {
    matches!(text, "return" | "if" | "while" | "for" | "switch" | "case" | "sizeof" | "else")
}

/// The index of the `;`, `,` or closing bracket that ends the expression at `start`.
fn statement_end(stream: &Stream<'_>, start: usize) -> Option<usize> {
    let mut index = start;
    for _ in 0..LOOKAHEAD_WORDS_MAX {
        let word = stream.get(index)?;
        match word.text {
            ";" | "," | ")" | "]" | "}" => return (index > start).then_some(index),
            _ => index = word.partner.filter(|close| *close > index).unwrap_or(index) + 1,
        }
    }
    None
}
