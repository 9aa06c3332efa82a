//! Splits MSL text into preprocessing tokens: enough C++ to know comments, literals, identifiers and punctuators apart.
//!
//! Every byte of the text belongs to exactly one token, and the work is linear in the text. What never ends (a comment, a
//! raw string, a quote on its line) is one token up to the end of the text or line; clang reports it.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Blanks, and backslash-newline.
    Space,
    /// One line feed.
    Newline,
    /// `// …` or `/* … */`.
    Comment,
    /// A string literal, raw or not, without its encoding prefix.
    String,
    /// A character literal.
    Character,
    /// A preprocessing number.
    Number,
    /// An identifier or keyword.
    Identifier,
    /// Anything else; operators of several characters where the rules need them whole.
    Punctuator,
}

/// A token and its place in the text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Token {
    /// Whether the compiler would not see it.
    pub(crate) fn is_trivia(self) -> bool {
        matches!(self.kind, TokenKind::Space | TokenKind::Newline | TokenKind::Comment)
    }
}

/// Longest first. Brackets stay single so that `a[b[0]]` needs no care, and `>` so that template lists do not either.
const OPERATORS: [&str; 25] = [
    "<<=", ">>=", "->*", "...", "::", "->", "++", "--", "<<", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "##", "\\",
];

/// The delimiter of a raw string has at most this many characters ([lex.string]).
const RAW_DELIMITER_LENGTH_MAX: usize = 16;

/// All tokens of `text`, in order, without gaps.
pub(crate) fn lex(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 3);
    let mut position = 0;
    while position < text.len() {
        let (kind, length) = token_at(&text[position..]);
        tokens.push(Token { kind, start: position, end: position + length });
        position += length;
    }
    tokens
}

/// Kind and length of the first token of `rest`, which is not empty.
fn token_at(rest: &str) -> (TokenKind, usize) {
    let bytes = rest.as_bytes();
    match bytes[0] {
        b'\n' => (TokenKind::Newline, 1),
        b' ' | b'\t' | b'\r' | 0x0b | 0x0c => (TokenKind::Space, length_while(bytes, is_blank)),
        b'\\' if bytes[1..].starts_with(b"\n") => (TokenKind::Space, 2),
        b'\\' if bytes[1..].starts_with(b"\r\n") => (TokenKind::Space, 3),
        b'/' if bytes[1..].starts_with(b"/") => (TokenKind::Comment, line_comment_length(bytes)),
        b'/' if bytes[1..].starts_with(b"*") => {
            (TokenKind::Comment, rest[2..].find("*/").map_or(rest.len(), |at| at + 4))
        }
        b'R' if bytes[1..].starts_with(b"\"") => match raw_string_length(rest) {
            Some(length) => (TokenKind::String, length),
            None => (TokenKind::Identifier, 1),
        },
        b'"' => quoted(bytes, b'"', TokenKind::String),
        b'\'' => quoted(bytes, b'\'', TokenKind::Character),
        b'0'..=b'9' => (TokenKind::Number, number_length(bytes)),
        b'.' if bytes.get(1).is_some_and(u8::is_ascii_digit) => (TokenKind::Number, number_length(bytes)),
        byte if is_word(byte) => (TokenKind::Identifier, length_while(bytes, is_word)),
        _ => {
            let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
            (TokenKind::Punctuator, operator.map_or(1, |operator| operator.len()))
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Bytes of UTF-8 sequences count as letters, which keeps sequences whole.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn length_while(bytes: &[u8], accept: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !accept(*byte)).unwrap_or(bytes.len())
}

/// Up to the line's end, which a backslash moves to the next line.
fn line_comment_length(bytes: &[u8]) -> usize {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == b'\n') {
        let end = from + at;
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        if !line.ends_with(b"\\") {
            return end;
        }
        from = end + 1;
    }
    bytes.len()
}

fn raw_string_length(rest: &str) -> Option<usize> {
    let open = rest[2..].find('(')?;
    let delimiter = &rest[2..2 + open];
    if delimiter.len() > RAW_DELIMITER_LENGTH_MAX
        || delimiter.bytes().any(|byte| is_blank(byte) || matches!(byte, b'\n' | b'\\' | b')' | b'"'))
    {
        return None;
    }
    let body = 2 + open + 1;
    let close = format!("){delimiter}\"");
    Some(rest[body..].find(&close).map_or(rest.len(), |at| body + at + close.len()))
}

/// A literal between quotes on one line; without its closing quote, the rest of the line as something unknown.
fn quoted(bytes: &[u8], quote: u8, kind: TokenKind) -> (TokenKind, usize) {
    let mut position = 1;
    while position < bytes.len() && bytes[position] != b'\n' {
        match bytes[position] {
            b'\\' if bytes[position + 1..].starts_with(b"\r\n") => position += 3,
            b'\\' if position + 1 < bytes.len() && bytes[position + 1].is_ascii() => position += 2,
            byte if byte == quote => return (kind, position + 1),
            _ => position += 1,
        }
    }
    (TokenKind::Punctuator, position.min(bytes.len()))
}

fn number_length(bytes: &[u8]) -> usize {
    let mut position = 1;
    while position < bytes.len() {
        let byte = bytes[position];
        let is_sign = matches!(byte, b'+' | b'-') && matches!(bytes[position - 1], b'e' | b'E' | b'p' | b'P');
        let is_separator = byte == b'\'' && bytes.get(position + 1).is_some_and(|next| is_word(*next));
        if !(is_word(byte) || byte == b'.' || is_sign || is_separator) {
            break;
        }
        position += 1;
    }
    position
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let tokens = lex(text);
        let shown: Vec<String> = tokens
            .iter()
            .filter(|token| token.kind != TokenKind::Space)
            .map(|token| format!("{:?} {:?}", token.kind, &text[token.start..token.end]))
            .collect();
        expected.assert_eq(&shown.join("\n"));
        assert_eq!(tokens.iter().map(|token| token.end - token.start).sum::<usize>(), text.len());
    }

    #[test]
    fn literals_and_comments() {
        check(
            "R\"x(a)\")x\" \"b\\\"c\" 'd' 1.5e-3h 0x1p-2 1'000 /* e\n*/ // f \\\n g\nh",
            expect![[r#"
                String "R\"x(a)\")x\""
                String "\"b\\\"c\""
                Character "'d'"
                Number "1.5e-3h"
                Number "0x1p-2"
                Number "1'000"
                Comment "/* e\n*/"
                Comment "// f \\\n g"
                Newline "\n"
                Identifier "h""#]],
        );
    }

    #[test]
    fn operators() {
        check(
            "a[b[0]]->*c>>d",
            expect![[r#"
                Identifier "a"
                Punctuator "["
                Identifier "b"
                Punctuator "["
                Number "0"
                Punctuator "]"
                Punctuator "]"
                Punctuator "->*"
                Identifier "c"
                Punctuator ">"
                Punctuator ">"
                Identifier "d""#]],
        );
    }

    #[test]
    fn what_never_ends_is_one_token() {
        check(
            "\"a\n'b\n/* c",
            expect![[r#"
                Punctuator "\"a"
                Newline "\n"
                Punctuator "'b"
                Newline "\n"
                Comment "/* c""#]],
        );
    }
}
