//! `torch._C._mps_ShaderLibrary` and `_mps_PrecompiledShaderLibrary`: kernels by name.

use std::path::Path;

use openmps::library::compile_options;
use openmps::{Device, Library, Settings};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::library_error;
use crate::kernel::PyKernel;

/// A library compiled from source. Attributes are its kernels; a name that is none raises RuntimeError, so that
/// `hasattr` raises as well, which is upstream's contract.
#[pyclass(name = "_mps_ShaderLibrary", module = "torch._C", frozen)]
pub(crate) struct PyLibrary {
    library: Library,
}

#[pymethods]
impl PyLibrary {
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<PyKernel> {
        py.detach(|| self.library.kernel(name)).map(PyKernel::new).map_err(|error| library_error(py, &error))
    }

    fn __dir__(&self) -> Vec<String> {
        self.library.kernel_names()
    }
}

/// A library from a `.metallib`, with the same protocol.
#[pyclass(name = "_mps_PrecompiledShaderLibrary", module = "torch._C", frozen)]
pub(crate) struct PyPrecompiledLibrary {
    library: Library,
}

#[pymethods]
impl PyPrecompiledLibrary {
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<PyKernel> {
        py.detach(|| self.library.kernel(name)).map(PyKernel::new).map_err(|error| library_error(py, &error))
    }

    fn __dir__(&self) -> Vec<String> {
        self.library.kernel_names()
    }
}

/// `torch._C._mps_compileShader`: compiles Metal source, all includes but the standard library's already expanded.
#[pyfunction]
fn compile_shader(py: Python<'_>, source: &str) -> PyResult<PyLibrary> {
    let options = compile_options(Settings::process(), Device::shared().language_version());
    let library = py.detach(|| Library::from_source(source, &options)).map_err(|error| library_error(py, &error))?;
    Ok(PyLibrary { library })
}

/// `torch._C._mps_loadMetalllib`: opens a compiled library in memory.
#[pyfunction]
fn load_metallib(data: &Bound<'_, PyBytes>) -> PyResult<PyPrecompiledLibrary> {
    let library = Library::from_metallib(data.as_bytes()).map_err(|error| library_error(data.py(), &error))?;
    Ok(PyPrecompiledLibrary { library })
}

/// `torch._C._mps_loadMetallibFromPath`: opens a compiled library in a file.
#[pyfunction]
fn load_metallib_from_path(py: Python<'_>, path: &str) -> PyResult<PyPrecompiledLibrary> {
    let library = py.detach(|| Library::from_metallib_file(Path::new(path)));
    Ok(PyPrecompiledLibrary { library: library.map_err(|error| library_error(py, &error))? })
}

/// Adds this file's functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compile_shader, module)?)?;
    module.add_function(wrap_pyfunction!(load_metallib, module)?)?;
    module.add_function(wrap_pyfunction!(load_metallib_from_path, module)?)
}
