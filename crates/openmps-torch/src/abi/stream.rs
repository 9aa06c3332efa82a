//! Streams, by id: 0 is the default stream, 1 to 32 are the pool.

use openmps::Stream;
use openmps::stream;

use super::error::AbiError;
use super::{Out, abi};

pub(super) fn stream_of(id: u32) -> Result<Stream, AbiError> {
    Stream::with_id(id).ok_or(AbiError::Value { name: "stream", value: id.into(), expected: "0 to 32" })
}

abi! {
    /// The current stream of this thread.
    fn openmps_stream_current() -> u32, else 0, { stream::current_id().0 }

    /// Makes a stream current for this thread.
    fn openmps_stream_set_current(stream: u32) {
        stream_of(stream)?.set_current();
        Ok(())
    }

    /// The next stream of the pool.
    fn openmps_stream_from_pool() -> u32, else 0, { Stream::from_pool().id().0 }

    /// Starts what was encoded.
    fn openmps_stream_commit(stream: u32) {
        stream_of(stream)?.commit();
        Ok(())
    }

    /// Waits for a stream and reports its deferred error.
    fn openmps_stream_synchronize(stream: u32) { Ok(stream_of(stream)?.synchronize()?) }

    /// Waits for a stream; a deferred error stays where it is.
    fn openmps_stream_wait_idle(stream: u32) {
        stream_of(stream)?.wait_idle();
        Ok(())
    }

    /// Whether a stream has nothing left to run.
    fn openmps_stream_is_idle(stream: u32, is_idle: Out<'_, bool>) {
        *is_idle.place("is_idle")? = stream_of(stream)?.is_idle();
        Ok(())
    }

    /// Waits for all streams and reports a deferred error.
    fn openmps_synchronize_all() { Ok(stream::synchronize_all()?) }

    /// Where the number of streams stands that may still run something; lives as long as the process, read with acquire.
    fn openmps_busy_streams() -> *const u64, else std::ptr::null(), { stream::busy_streams().as_ptr() }
}
