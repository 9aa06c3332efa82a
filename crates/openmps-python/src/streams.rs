//! Streams by id, for `torch._C._MPSStreamBase` and its neighbours, and waits that torch has no hook for.

use openmps::Stream;
use openmps::memory;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::memory_error;
use crate::tensor::address_pointer;

/// The id of the calling thread's current stream.
#[pyfunction]
fn current_stream_id() -> u32 {
    Stream::current().id().0
}

/// Makes the stream with this id the calling thread's current one.
#[pyfunction]
fn set_current_stream_id(id: i64) -> PyResult<()> {
    let stream = stream_with_id(id).ok_or_else(|| PyRuntimeError::new_err(format!("stream_id={id} not found")))?;
    stream.set_current();
    Ok(())
}

/// Whether a stream has this id.
#[pyfunction]
fn is_stream(id: i64) -> bool {
    stream_with_id(id).is_some()
}

/// The id of the pool's next stream.
#[pyfunction]
fn stream_from_pool() -> u32 {
    Stream::from_pool().id().0
}

/// Waits until every stream is idle. Deferred errors stay where they are: at the end of a process nobody can handle them.
#[pyfunction]
fn wait_for_idle_streams(py: Python<'_>) {
    py.detach(openmps::stream::wait_idle_all);
}

/// `torch._C._mps_allocator_waitForEvents`: waits for the streams recorded on these blocks; true if a wait made one idle.
#[pyfunction]
fn wait_for_events(py: Python<'_>, addresses: Vec<u64>) -> PyResult<bool> {
    let allocator = memory::allocator().map_err(|error| memory_error(py, &error))?;
    Ok(py.detach(|| {
        let pointers: Vec<*const u8> = addresses.into_iter().map(address_pointer).collect();
        allocator.wait_for_events(&pointers)
    }))
}

fn stream_with_id(id: i64) -> Option<Stream> {
    Stream::with_id(u32::try_from(id).ok()?)
}

/// Adds this file's functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(current_stream_id, module)?)?;
    module.add_function(wrap_pyfunction!(set_current_stream_id, module)?)?;
    module.add_function(wrap_pyfunction!(is_stream, module)?)?;
    module.add_function(wrap_pyfunction!(stream_from_pool, module)?)?;
    module.add_function(wrap_pyfunction!(wait_for_idle_streams, module)?)?;
    module.add_function(wrap_pyfunction!(wait_for_events, module)?)
}
