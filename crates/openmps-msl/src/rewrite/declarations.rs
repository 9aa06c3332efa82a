//! Rules 4, 7 and 8: what an address space means in a declaration.

use super::statement::Statement;
use super::stream::{Stream, Word};
use super::walker::{LOOKAHEAD_WORDS_MAX, Walker};
use crate::rewrite::lexer::TokenKind;

impl<'a> Walker<'a> {
    /// Applies what the address-space word at `index` asks for; an index when the word is consumed.
    pub(crate) fn address_space(&mut self, stream: &Stream<'a>, index: usize) -> Option<usize> {
        if self.paren_depth > 0 {
            self.array_parameter(stream, index);
            return None;
        }
        if self.is_member_qualifier(stream, index) {
            return Some(self.member_qualifier(stream, index));
        }
        if stream[index].text == "thread" {
            return None;
        }
        self.local_variable(stream, index);
        None
    }

    /// Rule 4: an object in threadgroup or constant memory inside a function has static storage.
    fn local_variable(&mut self, stream: &Stream<'a>, index: usize) {
        let word = stream[index];
        let may_be_local = self.in_function() || self.in_macro();
        if word.text != "device"
            && may_be_local
            && self.statement.is_only_qualifiers
            && !self.statement.has_storage_class
            && declares_object(stream, index, self.in_macro())
        {
            self.edits.insert_before(word.start, "static ");
            self.statement.mark_static();
        }
    }

    /// Whether the word stands behind a member function's parameter list.
    fn is_member_qualifier(&self, stream: &Stream<'a>, index: usize) -> bool {
        let last = self.statement.last();
        let follows_parameters =
            last == ")" || (matches!(last, "const" | "volatile") && self.statement.before_last() == ")");
        let next = stream.get(index + 1).map_or("", |word| word.text);
        follows_parameters && matches!(next, "{" | ":" | ";" | "const" | "noexcept" | "->" | "=")
    }

    /// Rule 7: an unqualified member function accepts every address space, so the qualifier goes, and with it the whole
    /// member where the class already has one of the same signature.
    fn member_qualifier(&mut self, stream: &Stream<'a>, index: usize) -> usize {
        let word = stream[index];
        let is_const_already =
            self.statement.last() == "const" || stream.get(index + 1).is_some_and(|next| next.text == "const");
        let becomes_const = word.text == "constant" && !is_const_already && !self.statement.declares_constructor();
        let mut signature = member_signature(&self.statement);
        if let Some(signature) = &mut signature
            && !signature.ends_with(" const")
            && (becomes_const || is_const_already)
        {
            signature.push_str(" const");
        }
        let is_duplicate = match (signature, self.members()) {
            (Some(signature), Some(members)) => members.contains(&signature),
            _ => false,
        };
        if !is_duplicate {
            // `thread` is an empty macro.
            if word.text != "thread" {
                self.edits.replace(word.start..word.end, if becomes_const { "const" } else { "" });
            }
            if becomes_const {
                self.statement.push(&Word { text: "const", ..word }, self.paren_depth);
            }
            return index + 1;
        }
        let end = member_end(stream, index);
        let start = self.statement.parts().first().map_or(word.start, |part| part.start);
        self.edits.remove(start..stream[end].end);
        self.statement = Statement::new();
        end + 1
    }

    /// Rule 8: `threadgroup T x[N]` as a parameter is a pointer, which C++ decays only without an address space.
    fn array_parameter(&mut self, stream: &Stream<'a>, index: usize) {
        let Some((name, bracket)) = array_declarator(stream, index) else { return };
        let Some(close) = stream[bracket].partner else { return };
        let Some(next) = stream.get(close + 1) else { return };
        let word = stream[name];
        match next.text {
            "," | ")" => self.edits.insert_before(word.start, "*"),
            "[" if stream.get(close + 2).is_some_and(|inner| inner.text == "[") => {
                self.edits.insert_before(word.start, "*")
            }
            "[" => {
                self.edits.insert_before(word.start, "(*");
                self.edits.insert_after(word.end, ")");
            }
            _ => return,
        }
        self.edits.remove(stream[bracket].start..stream[close].end);
    }
}

/// For `SPACE T name [`: the indices of `name` and `[`.
fn array_declarator(stream: &Stream<'_>, index: usize) -> Option<(usize, usize)> {
    let mut angle_depth = 0usize;
    let mut identifier_count = 0;
    let mut name = index;
    for (at, word) in stream.iter().enumerate().skip(index + 1).take(LOOKAHEAD_WORDS_MAX) {
        match word.text {
            "<" => angle_depth += 1,
            ">" => angle_depth = angle_depth.checked_sub(1)?,
            _ if angle_depth > 0 => {}
            "::" | "const" | "volatile" => {}
            "[" if identifier_count >= 2 && !is_attribute(stream, at) => return Some((name, at)),
            _ if word.kind == TokenKind::Identifier => {
                identifier_count += 1;
                name = at;
            }
            _ => return None,
        }
    }
    None
}

fn is_attribute(stream: &Stream<'_>, index: usize) -> bool {
    super::attributes::attribute_list_end(stream, index).is_some()
}

/// Whether the declaration that goes on behind the address space at `index` declares an object and not a pointer or
/// function: at least two identifiers, and no `*` or `&` outside brackets, before `;`, `=` or `{`.
fn declares_object(stream: &Stream<'_>, index: usize, in_macro: bool) -> bool {
    let mut angle_depth = 0usize;
    let mut identifier_count = 0;
    let mut at = index + 1;
    for _ in 0..LOOKAHEAD_WORDS_MAX {
        let Some(word) = stream.get(at) else { return false };
        match word.text {
            "<" => angle_depth += 1,
            ">" => angle_depth = angle_depth.saturating_sub(1),
            "(" | "[" => match word.partner {
                Some(close) => at = close,
                None => return false,
            },
            ")" | "]" | "}" => return false,
            _ if angle_depth > 0 => {}
            "*" | "&" | "&&" => return false,
            "," if in_macro => return false,
            ";" | "=" | "{" => return identifier_count >= 2,
            "const" | "volatile" | "unsigned" | "signed" | "typename" | "constexpr" | "struct" | "alignas" => {}
            _ if word.kind == TokenKind::Identifier => identifier_count += 1,
            _ => {}
        }
        at += 1;
    }
    false
}

/// The words up to the end of the parameter list, and `const`, without address spaces: what makes two members the same.
pub(crate) fn member_signature(statement: &Statement<'_>) -> Option<String> {
    let words: Vec<&str> = statement
        .parts()
        .iter()
        .map(|part| part.text)
        .filter(|text| {
            !matches!(*text, "device" | "threadgroup" | "constant" | "thread" | "METAL_FUNC" | "inline" | "]]")
        })
        .collect();
    let mut depth = 0usize;
    for (index, word) in words.iter().enumerate() {
        match *word {
            "(" => depth += 1,
            ")" => depth = depth.checked_sub(1)?,
            _ => continue,
        }
        let next = words.get(index + 1).copied().unwrap_or("");
        // `operator()(…)` and `decltype(…)(…)` have a second list.
        if depth == 0
            && *word == ")"
            && matches!(next, "" | "const" | "volatile" | "noexcept" | ":" | "=" | "->" | "override")
        {
            let mut signature = words[..=index].join(" ");
            if next == "const" {
                signature.push_str(" const");
            }
            return Some(signature);
        }
    }
    None
}

/// The index of the last word of the member function whose qualifier stands at `index`.
fn member_end(stream: &Stream<'_>, index: usize) -> usize {
    let mut at = index + 1;
    let mut last = "";
    let mut in_initializers = false;
    while let Some(word) = stream.get(at) {
        match word.text {
            ";" => return at,
            ":" => in_initializers = true,
            "{" => {
                let close = word.partner.unwrap_or(stream.len() - 1);
                // `: member{value}` is not the body.
                let is_initializer = in_initializers && !matches!(last, ")" | "}");
                if !is_initializer {
                    let has_semicolon = stream.get(close + 1).is_some_and(|next| next.text == ";");
                    return if has_semicolon { close + 1 } else { close };
                }
                at = close;
            }
            "(" | "[" => at = word.partner.unwrap_or(at),
            _ => {}
        }
        last = stream[at].text;
        at += 1;
    }
    stream.len() - 1
}
