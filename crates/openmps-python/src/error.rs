//! The one mapping from the runtime's errors to Python's exceptions.
//!
//! Diagnostics of a shader are SyntaxError, what a kernel reports or what stops a command is torch.AcceleratorError (and
//! torch.OutOfMemoryError when memory ran out), everything else is RuntimeError, as in upstream's binding.

use std::ffi::CString;

use openmps::capture::CaptureError;
use openmps::memory::MemoryError;
use openmps::{LibraryError, StreamError};
use pyo3::exceptions::{PyRuntimeError, PyRuntimeWarning, PySyntaxError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// A library that does not compile, a kernel that does not exist or does not build.
pub(crate) fn library_error(py: Python<'_>, error: &LibraryError) -> PyErr {
    match error {
        LibraryError::Diagnostics { .. } => PySyntaxError::new_err(error.to_string()),
        LibraryError::GroupTooLarge { .. } | LibraryError::EmptyGroup { .. } => {
            PyValueError::new_err(error.to_string())
        }
        LibraryError::Stream(error) => stream_error(py, error),
        LibraryError::Create(_)
        | LibraryError::Load { .. }
        | LibraryError::NoSuchKernel(_)
        | LibraryError::Pipeline(_)
        | LibraryError::Dispatch(_) => PyRuntimeError::new_err(error.to_string()),
    }
}

/// An allocator that cannot be constructed.
pub(crate) fn memory_error(py: Python<'_>, error: &MemoryError) -> PyErr {
    match error {
        MemoryError::Stream(error) => stream_error(py, error),
        MemoryError::HighWatermarkRatio(_)
        | MemoryError::LowWatermarkRatio(_)
        | MemoryError::InvalidBufferSize(_)
        | MemoryError::OutOfMemory { .. }
        | MemoryError::Arena { .. } => PyRuntimeError::new_err(error.to_string()),
    }
}

/// What a capture did not do: RuntimeError when it did not start, a RuntimeWarning when it is not whole, since the program
/// itself is well.
pub(crate) fn capture_result(py: Python<'_>, result: Result<(), CaptureError>) -> PyResult<()> {
    match result {
        Ok(()) => Ok(()),
        Err(CaptureError::Stream(error)) => Err(stream_error(py, &error)),
        Err(error @ CaptureError::Start { .. }) => Err(PyRuntimeError::new_err(error.to_string())),
        Err(error @ CaptureError::Write { .. }) => {
            let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
        }
    }
}

/// An error that surfaced at a synchronization.
pub(crate) fn stream_error(py: Python<'_>, error: &StreamError) -> PyErr {
    static ACCELERATOR_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static OUT_OF_MEMORY_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = match error {
        StreamError::Execution { is_oom: true, .. } => OUT_OF_MEMORY_ERROR.import(py, "torch", "OutOfMemoryError"),
        StreamError::Execution { is_oom: false, .. } | StreamError::Kernel { .. } => {
            ACCELERATOR_ERROR.import(py, "torch", "AcceleratorError")
        }
    };
    match class {
        Ok(class) => PyErr::from_type(class.clone(), error.to_string()),
        Err(error) => error,
    }
}

/// What pybind11 says of a Python value that does not convert to the C++ type wanted.
pub(crate) fn cast_error(value: &Bound<'_, PyAny>) -> PyErr {
    PyRuntimeError::new_err(format!(
        "Unable to cast Python instance of type {} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in \
         debug mode for details)",
        value.get_type()
    ))
}
