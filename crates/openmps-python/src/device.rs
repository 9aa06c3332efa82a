//! The device's name and size, GPU capture, and where the native parts of the package lie.

use std::path::PathBuf;

use openmps::{Device, capture};
use pyo3::prelude::*;

use crate::error::capture_result;

/// `torch._C._mps_get_name`.
#[pyfunction]
fn device_name() -> &'static str {
    Device::shared().name()
}

/// `torch._C._mps_get_core_count`.
#[pyfunction]
fn device_core_count() -> u32 {
    Device::shared().core_count()
}

/// `torch._C._mps_isCaptureEnabled`.
#[pyfunction]
fn is_capture_enabled() -> bool {
    capture::is_enabled()
}

/// `torch._C._mps_isCapturing`.
#[pyfunction]
fn is_capturing() -> bool {
    capture::is_capturing()
}

/// `torch._C._mps_startCapture`.
#[pyfunction]
fn start_capture(py: Python<'_>, name: &str) -> PyResult<()> {
    let result = py.detach(|| capture::start(name));
    capture_result(py, result)
}

/// `torch._C._mps_stopCapture`.
#[pyfunction]
fn stop_capture(py: Python<'_>) -> PyResult<()> {
    let result = py.detach(capture::stop);
    capture_result(py, result)
}

/// Tells the runtime where the compiler process and its headers are: `_native` beside this module.
#[pyfunction]
fn set_native_directory(path: PathBuf) {
    openmps::library::set_compiler_directory(path);
}

/// Adds this file's functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(device_name, module)?)?;
    module.add_function(wrap_pyfunction!(device_core_count, module)?)?;
    module.add_function(wrap_pyfunction!(is_capture_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(is_capturing, module)?)?;
    module.add_function(wrap_pyfunction!(start_capture, module)?)?;
    module.add_function(wrap_pyfunction!(stop_capture, module)?)?;
    module.add_function(wrap_pyfunction!(set_native_directory, module)?)
}
