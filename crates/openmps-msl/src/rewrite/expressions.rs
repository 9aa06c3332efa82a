//! Rules 5, 9, 10 and 11: literals, conditional operands, and casts between `half` and `bfloat`.

use super::edits::Edits;
use super::lexer::TokenKind;
use super::stream::Stream;
use super::walker::{LOOKAHEAD_WORDS_MAX, Walker};

/// Words after which `half(x)` is a cast and not a declaration.
const BEFORE_CAST: [&str; 30] = [
    "=", "(", ",", "+", "-", "*", "/", "<", ">", "?", ":", "return", "{", "&&", "||", "==", "!=", "+=", "-=", "*=",
    "/=", "%=", "<=", ">=", "[", "!", ";", "%", "<<", "",
];

impl<'a> Walker<'a> {
    /// Rules 5 and 9.
    pub(crate) fn literal(&mut self, stream: &Stream<'a>, index: usize) -> Option<usize> {
        let word = stream[index];
        match word.kind {
            TokenKind::Number => {
                match number(word.text) {
                    Number::UnsuffixedFloat => self.edits.insert_after(word.end, "f"),
                    Number::Half(body) => self.edits.replace(word.start..word.end, format!("{body}f16")),
                    Number::Bfloat(body) => self.edits.replace(word.start..word.end, format!("((bfloat){body}f)")),
                    Number::Other => {}
                }
                None
            }
            TokenKind::String if self.in_function() && !self.in_macro() && !self.statement.keeps_strings => {
                // The operand of `_Pragma` is for the preprocessor.
                if self.statement.last() == "(" && self.statement.before_last() == "_Pragma" {
                    return None;
                }
                let run = stream[index..].iter().take_while(|next| next.kind == TokenKind::String).count();
                self.edits.insert_before(word.start, "((constant const char*)");
                self.edits.insert_after(stream[index + run - 1].end, ")");
                self.statement.push(&word, self.paren_depth);
                Some(index + run)
            }
            TokenKind::Identifier if matches!(word.text, "__FILE__" | "__func__" | "__FUNCTION__") => {
                let is_pasted = matches!(self.statement.last(), "#" | "##");
                if !is_pasted && (self.in_macro() || self.in_function()) && !self.statement.keeps_strings {
                    self.edits.insert_before(word.start, "((constant const char*)");
                    self.edits.insert_after(word.end, ")");
                }
                None
            }
            _ => None,
        }
    }

    /// Rule 11: `half(x)` in an expression.
    pub(crate) fn functional_cast(&mut self, stream: &Stream<'a>, index: usize) -> Option<usize> {
        let word = stream[index];
        let before = self.statement.last();
        if !(self.in_function() || self.in_macro()) || !BEFORE_CAST.contains(&before) {
            return None;
        }
        if self.statement.parts().is_empty() && self.in_macro() && !self.in_function() {
            return None;
        }
        let close = stream.get(index + 1).filter(|open| open.text == "(")?.partner?;
        if matches!(stream[index + 2].text, ")" | "*" | "&") || has_top_level_comma(stream, index + 2, close) {
            return None;
        }
        self.edits.replace(word.start..word.end, format!("::__air::cast<{}>", word.text));
        None
    }

    fn is_cast_type(&self, name: &str) -> bool {
        matches!(name, "half" | "bfloat") || self.type_names.contains(name)
    }

    /// Rule 11: `(half)x`.
    pub(crate) fn cast(&mut self, stream: &Stream<'a>, index: usize) -> Option<usize> {
        let ty = stream.get(index + 1).filter(|ty| self.is_cast_type(ty.text))?;
        let close = stream.get(index + 2).filter(|close| close.text == ")")?;
        let operand = stream.get(index + 3)?;
        let starts_operand = matches!(operand.kind, TokenKind::Identifier | TokenKind::Number)
            || matches!(operand.text, "(" | "-" | "*" | "+");
        let before = self.statement.last();
        let ends_operand = matches!(before, ")" | "]" | ">")
            || (before.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && !matches!(before, "return" | "case" | "else"));
        if !(self.in_function() || self.in_macro()) || !starts_operand || ends_operand {
            return None;
        }
        self.edits.replace(stream[index].start..close.end, format!("::__air::to<{}>{{}} ->* ", ty.text));
        self.statement.push(&super::stream::Word { text: "->*", ..stream[index] }, self.paren_depth);
        Some(index + 3)
    }
}

fn has_top_level_comma(stream: &Stream<'_>, start: usize, end: usize) -> bool {
    let mut index = start;
    while index < end {
        if stream[index].text == "," {
            return true;
        }
        index = match stream[index].partner {
            Some(partner) if partner > index => partner + 1,
            _ => index + 1,
        };
    }
    false
}

/// A preprocessing number as the rules see it.
enum Number {
    /// `1.5`, `1e3`, `0x1p-2`: `double` in C++, `float` in MSL.
    UnsuffixedFloat,
    /// `1.5h`, with the digits in a form that takes clang's `f16`.
    Half(String),
    /// `1.5bf`, likewise for `f`.
    Bfloat(String),
    /// Integers, and floats with clang's own suffixes.
    Other,
}

fn number(text: &str) -> Number {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        let is_float = digits.split_once('p').is_some_and(|(_, exponent)| is_exponent(exponent));
        return if is_float { Number::UnsuffixedFloat } else { Number::Other };
    }
    if is_decimal(&lower) {
        return if lower.contains(['.', 'e']) { Number::UnsuffixedFloat } else { Number::Other };
    }
    let with_point = |digits: &str| {
        if digits.contains(['.', 'e']) { digits.to_owned() } else { format!("{digits}.0") }
    };
    if let Some(digits) = lower.strip_suffix("bf").filter(|digits| is_decimal(digits)) {
        return Number::Bfloat(with_point(digits));
    }
    match lower.strip_suffix('h').filter(|digits| is_decimal(digits)) {
        Some(digits) => Number::Half(with_point(digits)),
        None => Number::Other,
    }
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits with separators, perhaps a point, perhaps an exponent; nothing else.
fn is_decimal(lower: &str) -> bool {
    let (mantissa, exponent) =
        lower.split_once('e').map_or((lower, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'\'');
    is_digits(whole) && is_digits(fraction) && (whole.len() + fraction.len()) > 0 && exponent.is_none_or(is_exponent)
}

/// Rule 10: an operand of `?:` that may be an object in an address space becomes a value, since class types do not convert
/// across address spaces there.
pub(crate) fn wrap_conditional_operands(stream: &Stream<'_>, edits: &mut Edits) {
    // Words behind `?` whose `:` is still to come, for each open bracket.
    let mut pending: Vec<Vec<usize>> = vec![Vec::new()];
    for (index, word) in stream.iter().enumerate() {
        match word.text {
            "(" | "[" | "{" => pending.push(Vec::new()),
            ")" | "]" | "}" if pending.len() > 1 => {
                pending.pop();
            }
            ";" => pending[0].clear(),
            "?" => pending.last_mut().expect("the outermost level is never popped").push(index + 1),
            ":" => {
                let Some(start) = pending.last_mut().and_then(Vec::pop) else { continue };
                if chain_end(stream, start) == Some(index) {
                    wrap(stream, edits, start, index);
                }
                if let Some(end) = chain_end(stream, index + 1) {
                    let follower = stream.get(end).map_or(";", |next| next.text);
                    if matches!(follower, "," | ";" | ")" | "]" | "}" | ":" | "?") {
                        wrap(stream, edits, index + 1, end);
                    }
                }
            }
            _ => {}
        }
    }
}

fn wrap(stream: &Stream<'_>, edits: &mut Edits, start: usize, end: usize) {
    edits.insert_before(stream[start].start, "::__air::rv(");
    edits.insert_after(stream[end - 1].end, ")");
}

/// If an operand that may be an object in some address space starts at `start`, the index behind it: names, members,
/// subscripts and calls that end in a subscript or a member, or anything of that form behind `*`.
fn chain_end(stream: &Stream<'_>, start: usize) -> Option<usize> {
    let dereferences =
        stream.get(start..)?.iter().take(LOOKAHEAD_WORDS_MAX).take_while(|word| word.text == "*").count();
    let mut index = primary_end(stream, start + dereferences)?;
    let mut ends_in_access = false;
    while let Some(word) = stream.get(index) {
        match word.text {
            "." | "->" => {
                ends_in_access = true;
                index = name_end(stream, index + 1)?;
            }
            "::" => {
                ends_in_access = false;
                index = name_end(stream, index + 1)?;
            }
            "[" => {
                ends_in_access = true;
                index = word.partner.filter(|close| *close > index)? + 1;
            }
            "(" => {
                ends_in_access = false;
                index = word.partner.filter(|close| *close > index)? + 1;
            }
            _ => break,
        }
    }
    (ends_in_access || dereferences > 0).then_some(index)
}

/// The index behind a name, a cast in C++'s notation, or a parenthesis.
fn primary_end(stream: &Stream<'_>, start: usize) -> Option<usize> {
    let word = stream.get(start)?;
    match word.text {
        "reinterpret_cast" | "static_cast" | "const_cast" | "as_type" => {
            let open = angle_list_end(stream, start + 1)?;
            let parenthesis = stream.get(open).filter(|word| word.text == "(")?;
            Some(parenthesis.partner.filter(|close| *close > open)? + 1)
        }
        "(" => {
            let next = word.partner.filter(|close| *close > start)? + 1;
            // A cast in C's notation.
            Some(name_end(stream, next).unwrap_or(next))
        }
        _ => name_end(stream, start),
    }
}

fn name_end(stream: &Stream<'_>, start: usize) -> Option<usize> {
    (stream.get(start)?.kind == TokenKind::Identifier).then_some(start + 1)
}

/// The index behind `<…>` at `start`.
fn angle_list_end(stream: &Stream<'_>, start: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, word) in stream.iter().enumerate().skip(start).take(LOOKAHEAD_WORDS_MAX) {
        match word.text {
            "<" => depth += 1,
            ">" => depth = depth.checked_sub(1)?,
            ";" | "{" | "}" => return None,
            _ => {}
        }
        if depth == 0 {
            return (index > start).then_some(index + 1);
        }
    }
    None
}
