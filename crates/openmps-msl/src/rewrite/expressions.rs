//! Rules 5, 9, 10 and 11: literals, conditional operands, and casts between `half` and `bfloat`.

use super::edits::Edits;
use super::lexer::TokenKind;
use super::stream::Stream;
use super::walker::Walker;

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

    /// Rule 11: `(half)x`.
    pub(crate) fn cast(&mut self, stream: &Stream<'a>, index: usize) -> Option<usize> {
        let ty = stream.get(index + 1).filter(|ty| matches!(ty.text, "half" | "bfloat"))?;
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

/// Rule 10: an operand of `?:` that is a plain chain of names, member accesses and subscripts becomes a value, since
/// class types do not convert across address spaces there.
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

/// If a chain that ends in a subscript or a member access starts at `start`, the index behind it.
fn chain_end(stream: &Stream<'_>, start: usize) -> Option<usize> {
    let mut index = start;
    let mut ends_in_access = false;
    let mut expects_name = true;
    while let Some(word) = stream.get(index) {
        if expects_name {
            if word.kind != TokenKind::Identifier {
                return None;
            }
            expects_name = false;
            index += 1;
            continue;
        }
        match word.text {
            "." | "->" => {
                ends_in_access = true;
                expects_name = true;
            }
            "::" => {
                ends_in_access = false;
                expects_name = true;
            }
            "[" => {
                ends_in_access = true;
                index = word.partner.filter(|close| *close > index)?;
            }
            _ => break,
        }
        index += 1;
    }
    (ends_in_access && !expects_name).then_some(index)
}
