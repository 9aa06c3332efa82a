//! The tokens that rules look at: significant ones, with brackets matched, and preprocessor directives set apart.

use std::collections::HashMap;

use super::lexer::{Token, TokenKind, lex};

/// A significant token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// Its text, or the word of the language that a macro of this name stands for.
    pub text: &'a str,
    /// First byte in the source.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// For a bracket, the index of its partner in the same stream.
    pub partner: Option<usize>,
}

/// Significant tokens of running code, or of one macro body.
pub(crate) type Stream<'a> = Vec<Word<'a>>;

/// A preprocessor line that is rewritten.
#[derive(Debug)]
pub(crate) enum Directive<'a> {
    /// The replacement list of a `#define`.
    Define(Stream<'a>),
    /// `#pragma METAL …`: every token of the line.
    MetalPragma(Stream<'a>),
    /// `#pragma clang …`: every token of the line.
    ClangPragma(Stream<'a>),
}

/// A text as the rules see it.
#[derive(Debug)]
pub(crate) struct SplitSource<'a> {
    /// Everything outside directives.
    pub code: Stream<'a>,
    /// Directives in order, each with the index in `code` of the first word behind it.
    pub directives: Vec<(usize, Directive<'a>)>,
}

/// Lexes `source` and separates directives from code.
pub(crate) fn split(source: &str) -> SplitSource<'_> {
    let tokens = lex(source);
    let mut code = Stream::new();
    let mut directives = Vec::new();
    let mut aliases = HashMap::new();
    let mut at_line_start = true;
    let mut index = 0;
    while index < tokens.len() {
        let token = tokens[index];
        if at_line_start && &source[token.start..token.end] == "#" {
            let length = tokens[index..].iter().position(|token| token.kind == TokenKind::Newline);
            let end = length.map_or(tokens.len(), |length| index + length);
            let line: Stream<'_> = significant(source, &tokens[index..end]);
            if let Some((name, word)) = alias(&line) {
                aliases.insert(name, word);
            }
            if let Some(directive) = directive(line) {
                directives.push((code.len(), directive));
            }
            index = end;
            continue;
        }
        at_line_start = token.kind == TokenKind::Newline || (at_line_start && token.is_trivia());
        if !token.is_trivia() {
            code.push(word(source, token));
        }
        index += 1;
    }
    if !aliases.is_empty() {
        let bodies = directives.iter_mut().filter_map(|(_, directive)| match directive {
            Directive::Define(body) => Some(body),
            Directive::MetalPragma(_) | Directive::ClangPragma(_) => None,
        });
        for word in bodies.flatten().chain(&mut code) {
            word.text = aliases.get(word.text).copied().unwrap_or(word.text);
        }
    }
    match_brackets(&mut code);
    SplitSource { code, directives }
}

fn word(source: &str, token: Token) -> Word<'_> {
    let text = &source[token.start..token.end];
    Word { kind: token.kind, text, start: token.start, end: token.end, partner: None }
}

fn significant<'a>(source: &'a str, tokens: &[Token]) -> Stream<'a> {
    tokens.iter().filter(|token| !token.is_trivia()).map(|token| word(source, *token)).collect()
}

/// Words of the language that a rule looks for, and that a program may give another name.
const ALIASED: [&str; 4] = ["kernel", "threadgroup", "constant", "device"];

/// For `#define NAME word`: the name and the word.
fn alias<'a>(line: &Stream<'a>) -> Option<(&'a str, &'a str)> {
    let [_, define, name, word] = line[..] else { return None };
    (define.text == "define" && ALIASED.contains(&word.text)).then_some((name.text, word.text))
}

fn directive(mut words: Stream<'_>) -> Option<Directive<'_>> {
    let text = |index: usize| words.get(index).map_or("", |word| word.text);
    match (text(1), text(2)) {
        ("pragma", "METAL") => Some(Directive::MetalPragma(words)),
        ("pragma", "clang") => Some(Directive::ClangPragma(words)),
        ("define", _) => {
            // A parameter list touches the name; anything else is the replacement list.
            let mut body = 3;
            if words.len() > 3 && text(3) == "(" && words[3].start == words[2].end {
                body = words.iter().position(|word| word.text == ")").map_or(words.len(), |at| at + 1);
            }
            let mut words = words.split_off(body.min(words.len()));
            match_brackets(&mut words);
            Some(Directive::Define(words))
        }
        _ => None,
    }
}

/// Pairs brackets. Conditional compilation can leave one without a partner; a closing bracket then closes the innermost
/// opening one of its kind, and what was opened in between stays alone.
fn match_brackets(words: &mut [Word<'_>]) {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut open_count = [0usize; 3];
    for index in 0..words.len() {
        let (kind, opens) = match words[index].text {
            "(" => (0, true),
            "[" => (1, true),
            "{" => (2, true),
            ")" => (0, false),
            "]" => (1, false),
            "}" => (2, false),
            _ => continue,
        };
        if opens {
            open.push((kind, index));
            open_count[kind] += 1;
            continue;
        }
        if open_count[kind] == 0 {
            continue;
        }
        while let Some((other_kind, other)) = open.pop() {
            open_count[other_kind] -= 1;
            if other_kind == kind {
                words[other].partner = Some(index);
                words[index].partner = Some(other);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_leave_the_code() {
        let source = "a\n#define F(x) (x \\\n+1)\n#if 1\nb // c\n # pragma METAL fp\n#define G (y)\n";
        let split = split(source);
        let texts = |stream: &Stream<'_>| stream.iter().map(|word| word.text.to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(&split.code), ["a", "b"]);
        let shown: Vec<String> = split
            .directives
            .iter()
            .map(|(at, directive)| match directive {
                Directive::Define(body) => format!("{at} define {}", texts(body).join(" ")),
                Directive::MetalPragma(line) | Directive::ClangPragma(line) => {
                    format!("{at} pragma {}", texts(line).join(" "))
                }
            })
            .collect();
        assert_eq!(shown, ["1 define ( x + 1 )", "2 pragma # pragma METAL fp", "2 define ( y )"]);
    }

    #[test]
    fn an_unclosed_bracket_does_not_spoil_the_rest() {
        let split = split("{ f( } [x]");
        let partners: Vec<Option<usize>> = split.code.iter().map(|word| word.partner).collect();
        assert_eq!(partners, [Some(3), None, None, Some(0), Some(6), None, Some(4)]);
    }
}
