//! Errors that cross the contract.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// The source is not valid.
    Error,
    /// The source is suspicious.
    Warning,
    /// Explains the diagnostic before it.
    Note,
}

/// One message of a front end, in the coordinates of the user's own text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How grave it is.
    pub severity: Severity,
    /// `program_source` for the text given, else the name of an included file.
    pub file: String,
    /// Line, from 1; 0 where the message has no place.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The message, without place and severity.
    pub message: String,
}

/// Why source text did not become a library.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum CompileError {
    /// The compiler rejected the text. `rendered` is what a person reads: `program_source:1:5: error: …` with carets.
    #[error("{rendered}")]
    Diagnostics {
        /// Each message.
        diagnostics: Vec<Diagnostic>,
        /// All of them as text.
        rendered: String,
    },
    /// The compiler itself failed: it crashed, is missing, or ran into a limit.
    #[error("{0}")]
    Internal(String),
}

/// Why a kernel of a valid library cannot become machine code.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum EngineError {
    /// The library has no such kernel.
    #[error("no kernel named '{0}'")]
    NoSuchKernel(String),
    /// The module is not AIR as it should be, or function constants do not get the values that the kernel needs.
    #[error("{0}")]
    Invalid(String),
    /// The kernel uses what this engine cannot do; the text names kernel, instruction and what is supported.
    #[error("{0}")]
    Unsupported(String),
    /// Our own mistake, or the machine's.
    #[error("{0}")]
    Internal(String),
}

/// Why a dispatch failed while it ran.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DispatchError {
    /// A buffer that the kernel takes was not bound.
    #[error("kernel '{kernel}': nothing is bound at buffer index {index} (argument '{argument}')")]
    Unbound {
        /// The kernel's host name.
        kernel: String,
        /// The buffer index.
        index: u32,
        /// The argument's name.
        argument: String,
    },
    /// A texture or sampler that the kernel takes was not bound.
    #[error("kernel '{kernel}': no {resource} is bound at {resource} index {index} (argument '{argument}')")]
    UnboundResource {
        /// The kernel's host name.
        kernel: String,
        /// `texture` or `sampler`.
        resource: &'static str,
        /// The index in that table.
        index: u32,
        /// The argument's name.
        argument: String,
    },
    /// The texture bound does not fit the argument.
    #[error("kernel '{kernel}': argument '{argument}' at texture index {index}: {reason}")]
    TextureMismatch {
        /// The kernel's host name.
        kernel: String,
        /// The texture index.
        index: u32,
        /// The argument's name.
        argument: String,
        /// What does not fit.
        reason: String,
    },
    /// The kernel stopped with an error of its own.
    #[error("kernel '{kernel}': {reason}")]
    Failed {
        /// The kernel's host name.
        kernel: String,
        /// What happened.
        reason: String,
    },
}
