//! `torch._C._mps_MetalKernel`: a kernel that Python calls.

use openmps::stream::ERROR_BUFFER_BYTES;
use openmps::{ArgumentKind, Kernel, Stream};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::Arguments;
use crate::casts::ArgCasts;
use crate::error::library_error;
use crate::grid::{self, Sizes};

/// A kernel of a shader library. It keeps its pipeline alive, also when the library is gone.
#[pyclass(name = "_mps_MetalKernel", module = "torch._C", frozen)]
pub(crate) struct PyKernel {
    kernel: Kernel,
}

impl PyKernel {
    pub(crate) fn new(kernel: Kernel) -> Self {
        Self { kernel }
    }
}

/// The keyword arguments of a call.
#[derive(Default)]
struct Options {
    threads: Option<Sizes>,
    group_size: Option<Sizes>,
    casts: ArgCasts,
    error_buffer_slot: Option<u32>,
}

#[pymethods]
impl PyKernel {
    /// Most threads of one threadgroup.
    #[getter]
    fn max_threads_per_threadgroup(&self) -> u32 {
        self.kernel.properties().max_total_threads_per_threadgroup
    }

    /// Threads of one SIMD-group.
    #[getter]
    fn thread_execution_width(&self) -> u32 {
        self.kernel.properties().thread_execution_width
    }

    /// Bytes of threadgroup memory that the kernel declares.
    #[getter]
    fn static_thread_group_memory_length(&self) -> u32 {
        self.kernel.properties().static_threadgroup_memory_length
    }

    /// Encodes the kernel into the current stream and returns at once.
    ///
    /// Keywords: `threads` (an int or up to three; default: the elements of the first tensor), `group_size` (the same rank),
    /// `arg_casts` (a word, or a dict from argument index to word), `error_buf_idx` (where to bind the stream's error buffer).
    #[pyo3(signature = (*args, **keywords))]
    fn __call__(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let options = match keywords {
            Some(keywords) => Options::parse(slf, args, keywords)?,
            None => Options::default(),
        };
        let kernel = &slf.get().kernel;
        refuse_textures(kernel)?;
        let mut arguments = Arguments::bind(args, &options.casts)?;
        let stream = Stream::current();
        if let Some(slot) = options.error_buffer_slot {
            arguments.bind_address(slot, stream.error_buffer_address(), ERROR_BUFFER_BYTES as u64);
        }
        let threads = options.threads.or_else(|| arguments.first_tensor_elements.map(|count| vec![count]));
        let max_threads = kernel.properties().max_total_threads_per_threadgroup;
        let grid = grid::grid(threads.as_ref(), options.group_size.as_ref(), max_threads)?;
        openmps_torch::abi::threads::follow();
        kernel
            .encode_with_notes(stream, arguments.bindings, &arguments.retained, grid, arguments.notes)
            .map_err(|error| library_error(slf.py(), &error))?;
        Ok(())
    }
}

/// PyTorch's call protocol has no way to pass textures and samplers.
fn refuse_textures(kernel: &Kernel) -> PyResult<()> {
    let is_texture = |kind: &ArgumentKind| matches!(kind, ArgumentKind::Texture { .. } | ArgumentKind::Sampler { .. });
    match kernel.signature().arguments.iter().find(|argument| is_texture(&argument.kind)) {
        None => Ok(()),
        Some(argument) => Err(PyRuntimeError::new_err(format!(
            "kernel '{}' takes argument '{}' of type {}, but a call from Python can only bind buffers; textures and samplers \
             are bound from Rust",
            kernel.name(),
            argument.name,
            argument.type_name
        ))),
    }
}

impl Options {
    fn parse(kernel: &Bound<'_, PyKernel>, args: &Bound<'_, PyTuple>, keywords: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut options = Self::default();
        let mut casts = None;
        for (name, value) in keywords {
            match name.extract::<&str>()? {
                "threads" => options.threads = grid::parse_sizes(&value)?,
                "group_size" => options.group_size = grid::parse_sizes(&value)?,
                "arg_casts" => casts = Some(value),
                "error_buf_idx" if value.is_none() => {}
                "error_buf_idx" => {
                    let index: i64 = value.extract().map_err(|_| incompatible(kernel, args, keywords))?;
                    options.error_buffer_slot = Some(error_buffer_slot(index)?);
                }
                _ => return Err(incompatible(kernel, args, keywords)),
            }
        }
        if let Some(casts) = casts {
            options.casts = ArgCasts::parse(&casts)?;
        }
        Ok(options)
    }
}

fn error_buffer_slot(index: i64) -> PyResult<u32> {
    u32::try_from(index)
        .ok()
        .filter(|&slot| slot < crate::arguments::BUFFER_SLOTS_MAX)
        .ok_or_else(|| PyRuntimeError::new_err(format!("error_buf_idx is {index}, but buffer indices go from 0 to 30")))
}

/// The TypeError of pybind11, which upstream's binding uses, for keywords that no overload takes.
fn incompatible(kernel: &Bound<'_, PyKernel>, args: &Bound<'_, PyTuple>, keywords: &Bound<'_, PyDict>) -> PyErr {
    let shown =
        |value: &Bound<'_, PyAny>| value.repr().map_or_else(|_| "<repr raised Error>".into(), |text| text.to_string());
    let mut invoked = vec![shown(kernel.as_any())];
    invoked.extend(args.iter().map(|value| shown(&value)));
    let named: Vec<String> = keywords.iter().map(|(name, value)| format!("{name}={}", shown(&value))).collect();
    PyTypeError::new_err(format!(
        "__call__(): incompatible function arguments. The following argument types are supported:\n    \
         1. (self: torch._C._mps_MetalKernel, *args, threads: object = None, group_size: object = None, \
         arg_casts: object = None, error_buf_idx: Optional[int] = None) -> None\n\n\
         Invoked with: {}; kwargs: {}",
        invoked.join(", "),
        named.join(", "),
    ))
}
