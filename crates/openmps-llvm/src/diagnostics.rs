//! What LLVM reports, as values: the error type, and the handler that catches a context's diagnostics.

use std::cell::RefCell;
use std::ffi::c_void;

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity};
use llvm_sys::prelude::LLVMDiagnosticInfoRef;
use thiserror::Error;

use crate::string;

/// Why LLVM refused. Each text is LLVM's own.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes are not bitcode of a version that this LLVM reads.
    #[error("not readable bitcode: {0}")]
    Bitcode(String),
    /// The text is not LLVM IR.
    #[error("not readable LLVM IR: {0}")]
    Text(String),
    /// The module breaks a rule of LLVM IR.
    #[error("invalid LLVM IR: {0}")]
    Verify(String),
    /// Two modules cannot be linked.
    #[error("modules do not link: {0}")]
    Link(String),
    /// A pass pipeline is misspelt or failed.
    #[error("passes '{pipeline}' failed: {message}")]
    Passes {
        /// The pipeline as given.
        pipeline: String,
        /// LLVM's text.
        message: String,
    },
    /// No code generator for the target, or it refused the module.
    #[error("no code for {triple}: {message}")]
    Target {
        /// The target triple.
        triple: String,
        /// LLVM's text.
        message: String,
    },
}

/// Diagnostics of one context since the last [`take`](Self::take_errors). The default handler of LLVM would print errors
/// and end the process.
#[derive(Default)]
pub(crate) struct Log {
    errors: RefCell<Vec<String>>,
}

impl Log {
    /// The errors so far, one a line, and forgets them.
    pub(crate) fn take_errors(&self) -> String {
        self.errors.take().join("\n")
    }

    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.borrow().is_empty()
    }
}

/// LLVM calls this for each diagnostic; `log` is the context's [`Log`].
pub(crate) extern "C" fn record(info: LLVMDiagnosticInfoRef, log: *mut c_void) {
    // SAFETY: `info` is live during the handler's call (LLVM-C's contract).
    let severity = unsafe { LLVMGetDiagInfoSeverity(info) };
    if severity != LLVMDiagnosticSeverity::LLVMDSError {
        return;
    }
    // SAFETY: `info` is live during the handler's call.
    let text = string::owned(unsafe { LLVMGetDiagInfoDescription(info) });
    // SAFETY: `Context` registered the address of its boxed `Log`, which outlives the LLVM context.
    let log = unsafe { &*log.cast::<Log>() };
    log.errors.borrow_mut().push(text);
}
