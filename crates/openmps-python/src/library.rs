//! `torch._C._mps_ShaderLibrary` and `_mps_PrecompiledShaderLibrary`: kernels by name.

use openmps::library::compile_options;
use openmps::{LanguageVersion, Library, Settings};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::library_error;
use crate::kernel::PyKernel;

/// The first bytes of every compiled Metal library.
const METALLIB_MAGIC: &[u8] = b"MTLB";

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

/// A library from a `.metallib`. No value of this class exists yet: loading reports why.
#[pyclass(name = "_mps_PrecompiledShaderLibrary", module = "torch._C", frozen)]
pub(crate) struct PyPrecompiledLibrary {}

/// `torch._C._mps_compileShader`: compiles Metal source, all includes but the standard library's already expanded.
#[pyfunction]
fn compile_shader(py: Python<'_>, source: &str) -> PyResult<PyLibrary> {
    let options = compile_options(Settings::process(), LanguageVersion::default());
    let library = py.detach(|| Library::from_source(source, &options)).map_err(|error| library_error(py, &error))?;
    Ok(PyLibrary { library })
}

/// `torch._C._mps_loadMetalllib`.
#[pyfunction]
fn load_metallib(data: &Bound<'_, PyBytes>) -> PyResult<PyPrecompiledLibrary> {
    Err(PyRuntimeError::new_err(format!("Failed to load metallib: {}", refusal(data.as_bytes()))))
}

/// `torch._C._mps_loadMetallibFromPath`.
#[pyfunction]
fn load_metallib_from_path(path: &str) -> PyResult<PyPrecompiledLibrary> {
    let reason = match std::fs::read(path) {
        Ok(data) => refusal(&data),
        Err(error) => error.to_string(),
    };
    Err(PyRuntimeError::new_err(format!("Failed to load metallib from '{path}': {reason}")))
}

/// Why these bytes do not become a library.
fn refusal(data: &[u8]) -> String {
    if data.starts_with(METALLIB_MAGIC) {
        return "this release compiles Metal source only, precompiled libraries are not read yet".to_owned();
    }
    if data.is_empty() {
        return "the file is empty".to_owned();
    }
    let start = &data[..data.len().min(METALLIB_MAGIC.len())];
    format!("not a Metal library: it begins with \"{}\", expected \"MTLB\"", start.escape_ascii())
}

/// Adds this file's functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compile_shader, module)?)?;
    module.add_function(wrap_pyfunction!(load_metallib, module)?)?;
    module.add_function(wrap_pyfunction!(load_metallib_from_path, module)?)
}
