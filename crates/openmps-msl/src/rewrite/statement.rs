//! What the walker remembers of the statement or declaration that it is in.

use super::stream::Word;

/// A word of the current statement. An attribute list counts as one word with the text `]]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Its text.
    pub text: &'a str,
    /// First byte in the source.
    pub start: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TemplateHeader {
    #[default]
    None,
    /// After `template`.
    Expected,
    /// Inside `<…>`, this many levels deep.
    Open(u32),
}

/// Words before a parenthesis that goes on with the same statement.
const KEYWORDS_WITH_PARENTHESES: [&str; 11] =
    ["if", "for", "while", "switch", "return", "alignas", "decltype", "sizeof", "__attribute__", "typeof", "asm"];

/// Words since the last `;`, `{` or `}`, and facts about them outside template headers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statement<'a> {
    parts: Vec<Part<'a>>,
    declaration_start: usize,
    header: TemplateHeader,
    /// `namespace` occurred.
    pub has_namespace: bool,
    /// `enum` occurred.
    pub has_enum: bool,
    /// `struct`, `class` or `union` occurred.
    pub has_class: bool,
    /// `=` occurred outside parentheses.
    pub has_assignment: bool,
    /// `operator` occurred.
    pub has_operator: bool,
    /// `)` occurred.
    pub has_parameters: bool,
    /// `-> type` follows a parameter list.
    pub has_trailing_return: bool,
    /// `?` occurred.
    pub has_question: bool,
    /// `static` or `extern` occurred.
    pub has_storage_class: bool,
    /// A word occurred whose string literals must stay as they are.
    pub keeps_strings: bool,
    /// Only words occurred that may precede an address space in the declaration of a local variable.
    pub is_only_qualifiers: bool,
}

impl<'a> Statement<'a> {
    /// A statement that has not begun.
    pub(crate) fn new() -> Self {
        Self { is_only_qualifiers: true, ..Self::default() }
    }

    /// Adds a word, at this depth of parentheses.
    pub(crate) fn push(&mut self, word: &Word<'a>, paren_depth: usize) {
        self.parts.push(Part { text: word.text, start: word.start });
        if self.in_template_header(word.text, paren_depth) {
            self.is_only_qualifiers = false;
            return;
        }
        match word.text {
            "namespace" => self.has_namespace = true,
            "enum" => self.has_enum = true,
            "struct" | "class" | "union" => self.has_class = true,
            "=" if paren_depth == 0 => self.has_assignment = true,
            "operator" => self.has_operator = true,
            ")" => self.has_parameters = true,
            "->" => self.has_trailing_return |= self.before_last() == ")",
            "?" => self.has_question = true,
            "static" | "extern" => self.has_storage_class = true,
            _ => {}
        }
        self.keeps_strings |= matches!(
            word.text,
            "static_assert" | "_Static_assert" | "asm" | "__asm" | "__asm__" | "__attribute__" | "extern"
        );
        let is_qualifier = matches!(word.text, "const" | "volatile" | "constexpr" | "constant" | "alignas" | "(" | ")")
            || word.text.bytes().all(|byte| byte.is_ascii_digit());
        self.is_only_qualifiers &= is_qualifier;
    }

    /// Adds an attribute list that starts at byte `start`.
    pub(crate) fn push_attributes(&mut self, start: usize) {
        self.parts.push(Part { text: "]]", start });
    }

    /// Notes that `static` was inserted here.
    pub(crate) fn mark_static(&mut self) {
        self.has_storage_class = true;
    }

    fn in_template_header(&mut self, text: &str, paren_depth: usize) -> bool {
        let is_new = self.parts.len() == self.declaration_start + 1;
        self.header = match (self.header, text) {
            (TemplateHeader::None, "template") if is_new => TemplateHeader::Expected,
            (TemplateHeader::Expected, "<") => TemplateHeader::Open(1),
            (TemplateHeader::Expected, _) => TemplateHeader::None,
            (TemplateHeader::Open(depth), "<") if paren_depth == 0 => TemplateHeader::Open(depth + 1),
            (TemplateHeader::Open(1), ">") if paren_depth == 0 => {
                self.declaration_start = self.parts.len();
                self.header = TemplateHeader::None;
                return true;
            }
            (TemplateHeader::Open(depth), ">") if paren_depth == 0 => TemplateHeader::Open(depth - 1),
            (header, _) => header,
        };
        self.header != TemplateHeader::None
    }

    /// Every word so far.
    pub(crate) fn parts(&self) -> &[Part<'a>] {
        &self.parts
    }

    /// Whether it declares a constructor: a name and a parameter list with no type before them.
    pub(crate) fn declares_constructor(&self) -> bool {
        let mut words = self.declaration().iter().map(|part| part.text).skip_while(|text| {
            matches!(*text, "constexpr" | "explicit" | "inline" | "METAL_FUNC" | "METAL_ALWAYS_INLINE" | "]]")
        });
        words.next().is_some() && words.next() == Some("(")
    }

    /// Whether it is no more than `NAME(…)`, once or more: macros whose expansions end statements of their own.
    pub(crate) fn is_macro_call(&self) -> bool {
        let mut rest = &self.parts[..];
        while let [name, open, ..] = rest {
            let is_name = name.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && !KEYWORDS_WITH_PARENTHESES.contains(&name.text);
            let mut depth = 0usize;
            let close = rest[1..].iter().position(|part| {
                match part.text {
                    "(" => depth += 1,
                    ")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            });
            let Some(close) = close.filter(|_| is_name && open.text == "(") else { return false };
            rest = &rest[close + 2..];
        }
        rest.is_empty() && !self.parts.is_empty()
    }

    /// The words behind template headers and `extern "C"`.
    pub(crate) fn declaration(&self) -> &[Part<'a>] {
        let parts = &self.parts[self.declaration_start..];
        match parts {
            [first, second, rest @ ..] if first.text == "extern" && second.text.starts_with('"') => rest,
            _ => parts,
        }
    }

    /// The text of the first word, or an empty one.
    pub(crate) fn first(&self) -> &'a str {
        self.parts.first().map_or("", |part| part.text)
    }

    /// The text of the last word, or an empty one.
    pub(crate) fn last(&self) -> &'a str {
        self.parts.last().map_or("", |part| part.text)
    }

    /// The text of the word before the last, or an empty one.
    pub(crate) fn before_last(&self) -> &'a str {
        self.parts.len().checked_sub(2).map_or("", |index| self.parts[index].text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::split;
    use super::*;

    fn statement(text: &str) -> Statement<'_> {
        let mut statement = Statement::new();
        for word in &split(text).code {
            statement.push(word, 0);
        }
        statement
    }

    #[test]
    fn template_headers_are_not_the_declaration() {
        let statement = statement("template <typename T = vec<float, 2>> template <class U> void f");
        let words: Vec<&str> = statement.declaration().iter().map(|part| part.text).collect();
        assert_eq!(words, ["void", "f"]);
        assert!(!statement.has_assignment && !statement.has_class);
    }

    #[test]
    fn explicit_instantiations_have_no_header() {
        assert_eq!(statement("template struct X").declaration().len(), 3);
    }
}
