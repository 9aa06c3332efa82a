//! Looks at tensors from outside, through their Python attributes: what they are, where their bytes lie.
//!
//! Addresses are host addresses of the runtime's arena. Nothing here reads through them: the bytes of a CPU scalar come
//! as Python numbers. That keeps this crate free of `unsafe`, and costs only the rare 0-dimensional CPU argument.

use openmps::capture::TensorNote;
use openmps::memory;
use openmps::profile::{DTYPES, OTHER_DTYPE};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use crate::error::memory_error;

/// A tensor's place in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Address of element 0, storage offset included.
    pub(crate) address: u64,
    /// Bytes from there to the end of the buffer that holds it.
    pub(crate) size_bytes: u64,
    /// The allocator's block; None for memory that came from elsewhere.
    pub(crate) block: Option<*const u8>,
}

/// Whether `value` is a `torch.Tensor` or of a class derived from it.
pub(crate) fn is_tensor(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static TENSOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let tensor = TENSOR.import(value.py(), "torch", "Tensor")?;
    Ok(value.get_type().is(tensor) || value.is_instance(tensor)?)
}

/// `tensor.numel()`.
pub(crate) fn element_count(tensor: &Bound<'_, PyAny>) -> PyResult<u64> {
    tensor.call_method0(intern!(tensor.py(), "numel"))?.extract()
}

/// What the tensor is, for captures.
pub(crate) fn note(tensor: &Bound<'_, PyAny>) -> PyResult<TensorNote> {
    let py = tensor.py();
    let dtype = tensor.getattr(intern!(py, "dtype"))?.str()?.to_string();
    let sizes = tensor.getattr(intern!(py, "shape"))?.extract::<Vec<u64>>()?;
    let strides = tensor.call_method0(intern!(py, "stride"))?.extract::<Vec<i64>>()?;
    Ok(TensorNote { dtype: dtype.strip_prefix("torch.").unwrap_or(&dtype).into(), sizes, strides })
}

/// The number of the tensor's dtype in [`DTYPES`], or [`OTHER_DTYPE`].
pub(crate) fn scalar_type(tensor: &Bound<'_, PyAny>) -> PyResult<u8> {
    static KNOWN: PyOnceLock<Vec<(Py<PyAny>, u8)>> = PyOnceLock::new();
    let py = tensor.py();
    let known = KNOWN.get_or_try_init(py, || {
        let torch = py.import(intern!(py, "torch"))?;
        DTYPES.iter().map(|&(name, number)| Ok((torch.getattr(name)?.unbind(), number))).collect::<PyResult<_>>()
    })?;
    let dtype = tensor.getattr(intern!(py, "dtype"))?;
    Ok(known.iter().find(|(known, _)| known.is(&dtype)).map_or(OTHER_DTYPE, |&(_, number)| number))
}

/// `tensor.shape`.
pub(crate) fn shape<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    Ok(tensor.getattr(intern!(tensor.py(), "shape"))?.cast_into::<PyTuple>()?)
}

/// Whether the tensor lies on the device.
pub(crate) fn is_mps(tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
    tensor.getattr(intern!(tensor.py(), "is_mps"))?.is_truthy()
}

/// Where the elements of an MPS tensor lie; None for a tensor without elements.
pub(crate) fn place(tensor: &Bound<'_, PyAny>) -> PyResult<Option<Place>> {
    let py = tensor.py();
    let address: u64 = tensor.call_method0(intern!(py, "data_ptr"))?.extract()?;
    if address == 0 {
        return Ok(None);
    }
    let allocator = memory::allocator().map_err(|error| memory_error(py, &error))?;
    let pointer = address_pointer(address);
    let Some(block) = allocator.block_containing(pointer) else {
        return Ok(Some(Place { address, size_bytes: storage_bytes_from(tensor, address)?, block: None }));
    };
    let base = block.base.as_ptr().cast_const();
    let offset_bytes = u64::try_from(pointer.addr() - base.addr()).expect("an address space of 64 bits");
    Ok(Some(Place { address, size_bytes: block.size_bytes - offset_bytes, block: Some(base) }))
}

/// The pointer that the allocator knows a block by. It is looked up, never read through.
pub(crate) fn address_pointer(address: u64) -> *const u8 {
    std::ptr::without_provenance(usize::try_from(address).expect("data_ptr() is an address of this process"))
}

/// Bytes from `address` to the end of the tensor's storage, for memory that came from elsewhere than the allocator.
fn storage_bytes_from(tensor: &Bound<'_, PyAny>, address: u64) -> PyResult<u64> {
    let py = tensor.py();
    let storage = tensor.call_method0(intern!(py, "untyped_storage"))?;
    let base: u64 = storage.call_method0(intern!(py, "data_ptr"))?.extract()?;
    let size_bytes: u64 = storage.call_method0(intern!(py, "nbytes"))?.extract()?;
    Ok((base + size_bytes).saturating_sub(address))
}

/// The element of a 0-dimensional CPU tensor as bytes: float64 becomes float32, complex128 becomes complex64.
///
/// # Errors
/// RuntimeError for a tensor with dimensions, or on another device.
pub(crate) fn scalar_bytes(tensor: &Bound<'_, PyAny>) -> PyResult<Box<[u8]>> {
    let py = tensor.py();
    if !tensor.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
        let device = tensor.getattr(intern!(py, "device"))?;
        return Err(PyRuntimeError::new_err(format!("Passed {device} tensor to MPS op")));
    }
    let dimensions: u64 = tensor.call_method0(intern!(py, "dim"))?.extract()?;
    if dimensions != 0 {
        return Err(PyRuntimeError::new_err("Passed CPU tensor to MPS op"));
    }
    let torch = py.import(intern!(py, "torch"))?;
    let dtype = tensor.getattr(intern!(py, "dtype"))?;
    let mut narrowed = tensor.call_method0(intern!(py, "detach"))?;
    for (wide, narrow) in [("float64", "float32"), ("complex128", "complex64")] {
        if dtype.is(&torch.getattr(wide)?) {
            narrowed = narrowed.call_method1(intern!(py, "to"), (torch.getattr(narrow)?,))?;
        }
    }
    let row = narrowed.call_method1(intern!(py, "reshape"), (1,))?;
    let bytes = row.call_method1(intern!(py, "view"), (torch.getattr(intern!(py, "uint8"))?,))?;
    Ok(bytes.call_method0(intern!(py, "tolist"))?.extract::<Vec<u8>>()?.into_boxed_slice())
}
