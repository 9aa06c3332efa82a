//! Why a module is refused: what was found, where, and what was expected.

use std::fmt;

use thiserror::Error;

use crate::limits;

/// A piece of LLVM IR in an error text, cut to a readable length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotation(String);

impl Quotation {
    pub(crate) fn new(ir: &impl fmt::Display) -> Self {
        Self(ir.to_string())
    }
}

impl fmt::Display for Quotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.0.lines().next().unwrap_or_default();
        match first.char_indices().nth(limits::QUOTATION_CHARS_MAX) {
            Some((end, _)) => write!(f, "'{}…'", &first[..end]),
            None => write!(f, "'{first}'"),
        }
    }
}

/// Why a module is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes do not start like bitcode.
    #[error("not bitcode: starts with {0}, expected 42 43 c0 de or the wrapper's de c0 17 0b")]
    Magic(String),
    /// LLVM's own refusal: unreadable bitcode, or IR that breaks a rule.
    #[error(transparent)]
    Llvm(#[from] openmps_llvm::Error),
    /// Something is larger than the limit.
    #[error("{what}: {given}, at most {limit} allowed")]
    TooLarge {
        /// What, with its place.
        what: String,
        /// How large.
        given: u64,
        /// The limit.
        limit: u64,
    },
    /// The module as a whole contains what AIR never has.
    #[error("module: {what}")]
    Module {
        /// What it contains.
        what: String,
    },
    /// A global variable that AIR never has.
    #[error("global '{name}': {what}")]
    Global {
        /// Its name.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A declaration of a function that nothing defines.
    #[error("declaration '{name}': {what}")]
    Declaration {
        /// Its name.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A function that AIR never has.
    #[error("function '{name}': {what}")]
    Function {
        /// Its name.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// An instruction that AIR never has.
    #[error("function '{function}': {what} in {instruction}")]
    Instruction {
        /// The function.
        function: String,
        /// What is wrong.
        what: String,
        /// The instruction.
        instruction: Quotation,
    },
    /// A function that calls itself.
    #[error("function '{function}' calls itself: {chain}")]
    Recursion {
        /// The function.
        function: String,
        /// The way back to it.
        chain: String,
    },
    /// A function constant that is not as it should be, or does not get the value that it needs.
    #[error("function constant {constant}: {what}")]
    Constant {
        /// The constant's name in quotes with index and type, or which node of the list.
        constant: String,
        /// What is wrong.
        what: String,
    },
    /// A node of `!air.kernel` that is not as it should be.
    #[error("kernel {kernel}: {what}")]
    Kernel {
        /// The kernel's name in quotes, or which node of the list.
        kernel: String,
        /// What is wrong.
        what: String,
    },
    /// An argument node that is not as it should be.
    #[error("kernel '{kernel}', argument {position}: {what}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// The argument node, from 0.
        position: usize,
        /// What is wrong.
        what: String,
    },
}
