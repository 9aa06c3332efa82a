//! The Python extension module `openmps._openmps`: shader libraries and kernels with the names and words of `torch._C`,
//! and the few functions of the runtime that torch's Python has no hook for.
//!
//! This shared object is also where the runtime's statics live: it exports the `openmps_*` C ABI of `openmps-torch`, and
//! the C++ plug-in links to it. Python objects are touched nowhere else.

mod arguments;
mod casts;
mod device;
mod error;
mod grid;
mod kernel;
mod library;
mod streams;
mod tensor;

use pyo3::prelude::*;

// Linking the crate is what exports its C symbols from this shared object.
use openmps_torch as _;

/// Registers classes and functions.
#[pymodule]
fn _openmps(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<library::PyLibrary>()?;
    module.add_class::<library::PyPrecompiledLibrary>()?;
    module.add_class::<kernel::PyKernel>()?;
    library::register(module)?;
    device::register(module)?;
    streams::register(module)
}
