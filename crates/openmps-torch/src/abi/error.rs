//! The one mapping from the runtime's errors to status codes, and the per-thread message of the last failure.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

use openmps::StreamError;
use openmps::device::macs::MacError;
use openmps::event::EventError;
use openmps::generator::GeneratorError;
use openmps::generator::distributions::DistributionError;
use openmps::memory::MemoryError;
use openmps::profile::ProfileError;
use thiserror::Error;

use super::{Status, abi, status};

/// Everything an entry point can fail with.
#[derive(Debug, Error)]
pub enum AbiError {
    /// An argument that must not be null.
    #[error("argument '{0}' is null")]
    Null(&'static str),
    /// A number outside of an enumeration.
    #[error("argument '{name}' is {value}, expected {expected}")]
    Value {
        /// The argument.
        name: &'static str,
        /// What was given.
        value: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// `PYTORCH_ENABLE_MPS_FALLBACK` is no integer. PyTorch itself aborts the process here.
    #[error(
        "PYTORCH_ENABLE_MPS_FALLBACK is '{0}', expected an integer (1 runs missing ops on the CPU, 0 makes them raise)"
    )]
    Fallback(String),
    /// `OPENMPS_DEVICE` names no Mac.
    #[error(transparent)]
    Mac(#[from] MacError),
    /// Success, with something to tell the user.
    #[error("{0}")]
    Warning(String),
    /// A bug of ours.
    #[error("openmps: internal error: {0}")]
    Panic(String),
    /// From the allocator.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// From a stream.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// From an event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// From a generator.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// From a distribution.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// From the profiler.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

impl AbiError {
    fn status(&self) -> Status {
        match self {
            Self::Fallback(_) | Self::Mac(_) => status::VALUE_ERROR,
            Self::Warning(_) => status::WARNING,
            Self::Panic(_) => status::PANIC,
            Self::Null(_) | Self::Value { .. } | Self::Generator(_) | Self::Distribution(_) | Self::Profile(_) => {
                status::RUNTIME_ERROR
            }
            Self::Memory(MemoryError::Stream(error)) | Self::Event(EventError::Stream(error)) | Self::Stream(error) => {
                stream_status(error)
            }
            // PyTorch raises its allocator's own out-of-memory text as a plain RuntimeError.
            Self::Memory(_) | Self::Event(_) => status::RUNTIME_ERROR,
        }
    }

    fn stream_error(&self) -> Option<&StreamError> {
        match self {
            Self::Memory(MemoryError::Stream(error)) | Self::Event(EventError::Stream(error)) | Self::Stream(error) => {
                Some(error)
            }
            _ => None,
        }
    }
}

fn stream_status(error: &StreamError) -> Status {
    match error {
        StreamError::Execution { is_oom: true, .. } => status::OUT_OF_MEMORY_ERROR,
        StreamError::Execution { is_oom: false, .. } | StreamError::Kernel { .. } => status::ACCELERATOR_ERROR,
    }
}

/// The last failure of a thread.
#[derive(Default)]
struct Failure {
    message: CString,
    code: i32,
    file: CString,
    function: CString,
    line: u32,
}

thread_local! {
    static LAST: RefCell<Failure> = RefCell::default();
}

/// Stores `error` for `openmps_error_*` and gives its status.
pub(super) fn remember(error: &AbiError) -> Status {
    let mut failure = Failure { message: c_text(error.to_string()), ..Failure::default() };
    match error.stream_error() {
        Some(StreamError::Kernel { file, function, line, .. }) => {
            // The code that PyTorch gives errors which kernels report.
            failure.code = 1;
            failure.file = c_text(file.clone());
            failure.function = c_text(function.clone());
            failure.line = *line;
        }
        Some(StreamError::Execution { code, .. }) => failure.code = i32::try_from(*code).unwrap_or(i32::MAX),
        None => {}
    }
    // Fails only while the thread ends; then nobody asks for the message.
    let _ = LAST.try_with(|last| *last.borrow_mut() = failure);
    error.status()
}

fn c_text(text: String) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).expect("zero bytes were replaced")
}

/// Reads a field of the last failure; the pointer lives until the thread's next failure.
fn last<T>(field: impl FnOnce(&Failure) -> T, none: T) -> T {
    LAST.try_with(|last| field(&last.borrow())).unwrap_or(none)
}

abi! {
    /// The text of this thread's last failure. Valid until its next one.
    fn openmps_error_message() -> *const c_char, else c"".as_ptr(), { last(|failure| failure.message.as_ptr(), c"".as_ptr()) }

    /// The error code of this thread's last accelerator error.
    fn openmps_error_code() -> i32, else 0, { last(|failure| failure.code, 0) }

    /// The source file that a kernel's error report names. Valid until the thread's next failure.
    fn openmps_error_file() -> *const c_char, else c"".as_ptr(), { last(|failure| failure.file.as_ptr(), c"".as_ptr()) }

    /// The function that a kernel's error report names. Valid until the thread's next failure.
    fn openmps_error_function() -> *const c_char, else c"".as_ptr(), { last(|failure| failure.function.as_ptr(), c"".as_ptr()) }

    /// The line that a kernel's error report names.
    fn openmps_error_line() -> u32, else 0, { last(|failure| failure.line, 0) }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn message() -> String {
        // SAFETY: no arguments.
        let text = unsafe { openmps_error_message() };
        // SAFETY: the message is a C string that lives until this thread's next failure.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_kernels_report_is_an_accelerator_error_with_its_place() {
        let error = StreamError::Kernel {
            message: "index 1 is out of bounds".into(),
            file: "indexing.metal".into(),
            function: "index_put".into(),
            line: 37,
        };
        assert_eq!(remember(&error.into()), status::ACCELERATOR_ERROR);
        assert_eq!(message(), "index 1 is out of bounds");
        // SAFETY: no arguments.
        let code = unsafe { openmps_error_code() };
        // SAFETY: no arguments.
        let line = unsafe { openmps_error_line() };
        assert_eq!((code, line), (1, 37));
    }

    #[test]
    fn the_class_follows_the_cause() {
        let oom = StreamError::Execution { is_oom: true, code: 8, message: "no memory".into() };
        assert_eq!(remember(&AbiError::Memory(MemoryError::Stream(oom))), status::OUT_OF_MEMORY_ERROR);
        assert_eq!(remember(&AbiError::Memory(MemoryError::InvalidBufferSize(1))), status::RUNTIME_ERROR);
        assert_eq!(remember(&AbiError::Fallback("yes".into())), status::VALUE_ERROR);
        assert!(message().starts_with("PYTORCH_ENABLE_MPS_FALLBACK is 'yes'"));
    }

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(super::super::guard(|| panic!("seven {}", 7)), status::PANIC);
        assert_eq!(message(), "openmps: internal error: seven 7");
    }
}
