//! Walks a stream of words once and applies the rules where they belong.
//!
//! The walker keeps what the rules need to know: depth of parentheses, kinds of the braces around, the words of the
//! current statement, and whether an explicit instantiation is under way. Lookahead is bounded by
//! [`LOOKAHEAD_WORDS_MAX`], so the work stays linear in the text.

use std::collections::HashSet;

use openmps_engine::Diagnostic;

use super::edits::Edits;
use super::lexer::TokenKind;
use super::statement::Statement;
use super::stream::{Stream, Word};

/// No declarator of a real kernel comes near; a longer one is left to clang as it is.
pub(crate) const LOOKAHEAD_WORDS_MAX: usize = 4096;

/// What a pair of braces holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Declarations.
    Namespace,
    /// Members.
    Class,
    /// Enumerators.
    Enum,
    /// Statements.
    Function,
    /// Values.
    Initializer,
}

/// An open brace.
#[derive(Debug)]
struct Frame<'a> {
    scope: Scope,
    /// Whether it or a frame around it is a function's: the stack may be as deep as the text is long.
    in_function: bool,
    /// Depth of parentheses outside.
    outer_paren_depth: usize,
    /// The statement that a lambda interrupts.
    outer_statement: Option<Statement<'a>>,
    /// Signatures of members so far, for [`Scope::Class`].
    members: HashSet<String>,
}

/// The state of a walk over one source text.
#[derive(Debug)]
pub(crate) struct Walker<'a> {
    /// The text.
    pub source: &'a str,
    /// What the rules decided.
    pub edits: Edits,
    /// Messages of the rewriter itself, in the user's coordinates.
    pub warnings: Vec<Diagnostic>,
    frames: Vec<Frame<'a>>,
    /// Depth of parentheses inside the innermost braces.
    pub paren_depth: usize,
    /// The current statement.
    pub statement: Statement<'a>,
    /// `template` without `<`, until `;`.
    pub in_instantiation: bool,
    /// Names of types to which a cast may be one between `half` and `bfloat`, other than these two.
    pub type_names: HashSet<&'a str>,
}

impl<'a> Walker<'a> {
    /// A walk that has not begun.
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            source,
            edits: Edits::default(),
            warnings: Vec::new(),
            frames: Vec::new(),
            paren_depth: 0,
            statement: Statement::new(),
            in_instantiation: false,
            type_names: HashSet::new(),
        }
    }

    /// Walks `stream` from word `from` up to word `end`; returns where it stopped, at or past `end`.
    pub(crate) fn walk(&mut self, stream: &Stream<'a>, from: usize, end: usize) -> usize {
        let mut index = from;
        while index < end {
            index = self.step(stream, index);
        }
        index
    }

    /// Walks a macro body: the braces around it count, the statement around it does not.
    pub(crate) fn walk_macro(&mut self, body: &Stream<'a>) {
        let statement = std::mem::replace(&mut self.statement, Statement::new());
        let paren_depth = std::mem::take(&mut self.paren_depth);
        let in_instantiation = std::mem::take(&mut self.in_instantiation);
        let frame_count = self.frames.len();
        // A body that closes more braces than it opens must not touch the frames around it.
        let in_function = self.in_function();
        let outer_frames = std::mem::take(&mut self.frames);
        self.frames = if in_function { vec![Frame::new(Scope::Function, true)] } else { Vec::new() };
        self.edits.in_macro = true;
        self.walk(body, 0, body.len());
        self.edits.in_macro = false;
        self.frames = outer_frames;
        debug_assert_eq!(self.frames.len(), frame_count);
        self.statement = statement;
        self.paren_depth = paren_depth;
        self.in_instantiation = in_instantiation;
    }

    /// Handles the word at `index` and returns the index of the next one.
    fn step(&mut self, stream: &Stream<'a>, index: usize) -> usize {
        let word = stream[index];
        if self.follows_macro_call(&word) {
            self.statement = Statement::new();
        }
        if let Some(next) = self.attribute_list(stream, index) {
            return next;
        }
        let next = match word.text {
            "kernel" => self.kernel_keyword(stream, index),
            "half" | "bfloat" => self.functional_cast(stream, index),
            "threadgroup" | "constant" | "device" | "thread" => self.address_space(stream, index),
            "(" => self.cast(stream, index),
            name if self.type_names.contains(name) => self.functional_cast(stream, index),
            _ => self.literal(stream, index),
        };
        if let Some(next) = next {
            return next;
        }
        self.track(stream, index);
        index + 1
    }

    /// Whether `word` starts a statement behind a macro call that has no semicolon.
    fn follows_macro_call(&self, word: &Word<'a>) -> bool {
        let may_start =
            matches!(word.text, "template" | "kernel") || (self.in_function() && word.kind == TokenKind::Identifier);
        self.paren_depth == 0 && may_start && self.statement.is_macro_call()
    }

    /// Keeps the state up to date for a word that no rule consumed.
    fn track(&mut self, stream: &Stream<'a>, index: usize) {
        let word = &stream[index];
        match word.text {
            "template" => self.in_instantiation |= is_instantiation(stream, index),
            "(" => {
                self.statement.push(word, self.paren_depth);
                self.paren_depth += 1;
                return;
            }
            ")" => self.paren_depth = self.paren_depth.saturating_sub(1),
            "{" => return self.open_brace(stream, index),
            "}" => return self.close_brace(word),
            ";" if self.paren_depth == 0 => {
                self.record_member();
                self.in_instantiation = false;
                self.statement = Statement::new();
                return;
            }
            ":" if self.paren_depth == 0 && self.ends_label() => {
                self.statement = Statement::new();
                return;
            }
            _ => {}
        }
        self.statement.push(word, self.paren_depth);
    }

    fn ends_label(&self) -> bool {
        matches!(self.statement.first(), "public" | "private" | "protected" | "case" | "default")
            && !self.statement.has_question
    }

    fn open_brace(&mut self, stream: &Stream<'a>, index: usize) {
        let scope = self.scope_of_brace(stream, index);
        if self.paren_depth == 0 {
            self.record_member();
        }
        let mut frame = Frame::new(scope, self.in_function());
        frame.outer_paren_depth = self.paren_depth;
        if scope == Scope::Initializer {
            self.statement.push(&stream[index], self.paren_depth);
        } else {
            let statement = std::mem::replace(&mut self.statement, Statement::new());
            let is_inside_expression = self.paren_depth > 0 || statement.has_assignment;
            frame.outer_statement = is_inside_expression.then_some(statement);
            self.paren_depth = 0;
        }
        self.in_instantiation = false;
        self.frames.push(frame);
    }

    fn close_brace(&mut self, word: &Word<'a>) {
        let Some(frame) = self.frames.pop() else {
            self.statement = Statement::new();
            return;
        };
        self.paren_depth = frame.outer_paren_depth;
        match (frame.scope, frame.outer_statement) {
            (Scope::Initializer, _) => self.statement.push(word, self.paren_depth),
            (_, Some(mut statement)) => {
                statement.push(word, self.paren_depth);
                self.statement = statement;
            }
            (_, None) => self.statement = Statement::new(),
        }
    }

    /// What the `{` at `index` opens.
    fn scope_of_brace(&self, stream: &Stream<'a>, index: usize) -> Scope {
        let statement = &self.statement;
        let enclosing = self.frames.last().map(|frame| frame.scope);
        let last = statement.last();
        let opens_lambda = last == "mutable" || (last == "]" && is_lambda_capture(stream, index));
        if self.paren_depth > 0 {
            let has_body = opens_lambda || last == ")" || statement.has_trailing_return;
            return if has_body { Scope::Function } else { Scope::Initializer };
        }
        if opens_lambda || (self.edits.in_macro && statement.parts().is_empty()) {
            return Scope::Function;
        }
        if enclosing == Some(Scope::Initializer) && last != ")" {
            return Scope::Initializer;
        }
        if self.in_function() {
            return scope_in_function(statement);
        }
        if statement.has_namespace
            || (statement.first() == "extern" && !statement.has_assignment && !statement.has_parameters)
        {
            return Scope::Namespace;
        }
        scope_of_declaration(statement)
    }

    /// Whether the walk is somewhere inside a function body.
    pub(crate) fn in_function(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.in_function)
    }

    /// Whether the walk is inside a macro body.
    pub(crate) fn in_macro(&self) -> bool {
        self.edits.in_macro
    }

    /// The signatures of the innermost class, when its members are being declared.
    pub(crate) fn members(&mut self) -> Option<&mut HashSet<String>> {
        let frame = self.frames.last_mut()?;
        (frame.scope == Scope::Class).then_some(&mut frame.members)
    }

    fn record_member(&mut self) {
        if self.members().is_none() {
            return;
        }
        if let Some(signature) = super::declarations::member_signature(&self.statement)
            && let Some(members) = self.members()
        {
            members.insert(signature);
        }
    }
}

impl Frame<'_> {
    fn new(scope: Scope, is_in_function: bool) -> Self {
        let in_function = is_in_function || scope == Scope::Function;
        Self { scope, in_function, outer_paren_depth: 0, outer_statement: None, members: HashSet::new() }
    }
}

fn is_instantiation(stream: &Stream<'_>, index: usize) -> bool {
    let previous = index.checked_sub(1).map_or("", |before| stream[before].text);
    let next = stream.get(index + 1).map_or("<", |word| word.text);
    next != "<" && !matches!(previous, "." | "->" | "::")
}

/// Whether the `]` before `index` closes a capture list and not a subscript or an array bound.
fn is_lambda_capture(stream: &Stream<'_>, index: usize) -> bool {
    let Some(open) = index.checked_sub(1).and_then(|close| stream[close].partner) else { return false };
    let before = open.checked_sub(1).map_or("", |before| stream[before].text);
    let is_value = before == "]" || before == ")" || before.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    !is_value || before == "return"
}

fn scope_in_function(statement: &Statement<'_>) -> Scope {
    let starts_block = matches!(statement.first(), "if" | "for" | "while" | "switch" | "else" | "do");
    let ends_head = matches!(statement.last(), "" | ")" | "else" | "do" | "try" | "{" | "}" | "const" | ":");
    if statement.has_class && !statement.has_parameters && !statement.has_assignment {
        return Scope::Class;
    }
    if starts_block || ends_head || statement.has_trailing_return { Scope::Function } else { Scope::Initializer }
}

fn scope_of_declaration(statement: &Statement<'_>) -> Scope {
    if statement.has_enum && !statement.has_parameters {
        return Scope::Enum;
    }
    let ends_head = matches!(
        statement.last(),
        ")" | "const" | "noexcept" | "thread" | "device" | "threadgroup" | "constant" | "}" | "override" | "volatile"
    );
    if statement.has_assignment && !statement.has_operator {
        return if statement.last() == ")" { Scope::Function } else { Scope::Initializer };
    }
    if statement.has_parameters && (ends_head || statement.has_trailing_return) {
        return Scope::Function;
    }
    // `struct alignas(16) X {` has parameters too.
    if statement.has_class { Scope::Class } else { Scope::Initializer }
}
