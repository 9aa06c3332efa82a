//! The argument table of one kernel call: positional argument i goes to buffer index i.
//!
//! Which Python value binds how is a contract of `torch.mps`, down to the texts: tensors by address, ints as 8 bytes, floats
//! as 4, lists of numbers packed, lists of tensors as an array of addresses.

use openmps::profile::{self, flag};
use openmps::{Binding, Bindings, BufferIndex, Notes, capture};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList, PyTuple};

use crate::casts::{ArgCasts, Cast};
use crate::error::cast_error;
use crate::tensor::{self, Place};

/// Metal's limit of the buffer argument table (Metal feature set tables, "maximum number of entries in the buffer
/// argument table, per function").
pub(crate) const BUFFER_SLOTS_MAX: u32 = 31;
/// Metal's limit for `setBytes:length:atIndex:`.
const INLINE_BYTES_MAX: usize = 4096;

/// What a call binds, and what must stay alive while it is queued.
#[derive(Default)]
pub(crate) struct Arguments {
    /// The argument table.
    pub(crate) bindings: Bindings,
    /// Every block of the allocator that the kernel may reach.
    pub(crate) retained: Vec<*const u8>,
    /// Elements of the first tensor among the arguments: the default number of threads.
    pub(crate) first_tensor_elements: Option<u64>,
    /// While a capture runs or something is profiled: what the tensors are.
    pub(crate) notes: Notes,
}

impl Arguments {
    /// Binds every value in order.
    ///
    /// # Errors
    /// RuntimeError for a value that no kernel can take.
    pub(crate) fn bind(values: &Bound<'_, PyTuple>, casts: &ArgCasts) -> PyResult<Self> {
        let mut arguments = Self::default();
        for (index, value) in values.iter().enumerate() {
            let Some(slot) = u32::try_from(index).ok().filter(|&slot| slot < BUFFER_SLOTS_MAX) else {
                let count = values.len();
                return Err(PyRuntimeError::new_err(format!(
                    "{count} arguments exceed Metal's limit of {BUFFER_SLOTS_MAX} buffers for a kernel"
                )));
            };
            arguments.bind_value(slot, &value, casts)?;
        }
        Ok(arguments)
    }

    /// Binds memory of the runtime itself, such as a stream's error buffer.
    pub(crate) fn bind_address(&mut self, slot: u32, address: u64, size_bytes: u64) {
        self.bindings.set(BufferIndex(slot), Binding::Buffer { address, size_bytes });
    }

    fn bind_value(&mut self, slot: u32, value: &Bound<'_, PyAny>, casts: &ArgCasts) -> PyResult<()> {
        let binding = if tensor::is_tensor(value)? {
            if capture::is_capturing() {
                self.notes.captured.push((slot, tensor::note(value)?));
            }
            if profile::flags() & flag::TENSORS == 0 { self.tensor(value)? } else { self.profiled_tensor(value)? }
        } else if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
            let mut bytes = Vec::new();
            append_number(value, casts.at(slot)?, &mut bytes)?;
            Binding::Bytes(bytes.into_boxed_slice())
        } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            self.list(slot, value, casts)?
        } else {
            return Err(PyRuntimeError::new_err("Unsupported argument type"));
        };
        self.bindings.set(BufferIndex(slot), binding);
        Ok(())
    }

    fn tensor(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Binding> {
        if self.first_tensor_elements.is_none() {
            self.first_tensor_elements = Some(tensor::element_count(value)?);
        }
        if !tensor::is_mps(value)? {
            return Ok(Binding::Bytes(tensor::scalar_bytes(value)?));
        }
        Ok(match tensor::place(value)? {
            Some(Place { address, size_bytes, block }) => {
                self.retained.extend(block);
                Binding::Buffer { address, size_bytes }
            }
            None => Binding::Null,
        })
    }

    /// As [`tensor`](Self::tensor); the profiler gets what its lines and traces show.
    #[cold]
    fn profiled_tensor(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Binding> {
        let shape = tensor::shape(value)?;
        // Sizes are numbers of 63 bits.
        let sizes = || shape.iter_borrowed().map(|size| size.extract::<u64>().unwrap_or(0));
        // Saves a call of the interpreter.
        self.first_tensor_elements.get_or_insert_with(|| sizes().product());
        let binding = self.tensor(value)?;
        let (is_mps, address) = match binding {
            Binding::Buffer { address, .. } => (true, Some(address)),
            Binding::Null => (true, None),
            Binding::Bytes(_) | Binding::ThreadgroupMemory { .. } => (false, None),
        };
        self.notes.profiled.add(tensor::scalar_type(value)?, is_mps, address, sizes());
        Ok(binding)
    }

    /// Packs a list or tuple; its first element decides as what.
    fn list(&mut self, slot: u32, value: &Bound<'_, PyAny>, casts: &ArgCasts) -> PyResult<Binding> {
        if value.len()? == 0 {
            return Err(PyRuntimeError::new_err("Empty list/tuple can not be an argument to metal kernel"));
        }
        let first = value.get_item(0)?;
        let mut bytes = Vec::new();
        if tensor::is_tensor(&first)? {
            for element in value.try_iter()? {
                self.append_address(&element?, &mut bytes)?;
            }
        } else if first.is_instance_of::<PyFloat>() {
            let cast = casts.at(slot)?;
            for element in value.try_iter()? {
                append_float(&element?, value, cast, &mut bytes)?;
            }
        } else if first.is_instance_of::<PyInt>() {
            let cast = casts.at(slot)?;
            for element in value.try_iter()? {
                append_integer(&element?, value, cast, &mut bytes)?;
            }
        } else {
            return Err(PyRuntimeError::new_err("Unexpected argument types"));
        }
        if bytes.len() > INLINE_BYTES_MAX {
            return Err(PyRuntimeError::new_err(format!(
                "argument {slot} has {} bytes, but Metal passes at most {INLINE_BYTES_MAX} by value; pass a tensor",
                bytes.len()
            )));
        }
        Ok(Binding::Bytes(bytes.into_boxed_slice()))
    }

    /// One entry of an array of addresses, in the style of an argument buffer.
    fn append_address(&mut self, element: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> PyResult<()> {
        if !tensor::is_tensor(element)? {
            return Err(cast_error(element));
        }
        if !tensor::is_mps(element)? {
            return Err(PyRuntimeError::new_err("Passed CPU tensor to MPS op"));
        }
        let address = match tensor::place(element)? {
            Some(place) => {
                self.retained.extend(place.block);
                place.address
            }
            None => 0,
        };
        bytes.extend(address.to_le_bytes());
        Ok(())
    }
}

fn append_number(value: &Bound<'_, PyAny>, cast: Cast, bytes: &mut Vec<u8>) -> PyResult<()> {
    if value.is_instance_of::<PyFloat>() {
        append_float(value, value, cast, bytes)
    } else {
        append_integer(value, value, cast, bytes)
    }
}

/// `blamed` is what the error names: the whole list when `value` is an element of one.
fn append_float(value: &Bound<'_, PyAny>, blamed: &Bound<'_, PyAny>, cast: Cast, bytes: &mut Vec<u8>) -> PyResult<()> {
    let number: f64 = value.extract().map_err(|_| cast_error(blamed))?;
    #[expect(clippy::cast_possible_truncation, reason = "a Python float is bound as a 4-byte float")]
    cast.append_float(number as f32, bytes);
    Ok(())
}

fn append_integer(
    value: &Bound<'_, PyAny>,
    blamed: &Bound<'_, PyAny>,
    cast: Cast,
    bytes: &mut Vec<u8>,
) -> PyResult<()> {
    let number: i64 = value.extract().map_err(|_| cast_error(blamed))?;
    cast.append_integer(number, bytes);
    Ok(())
}
