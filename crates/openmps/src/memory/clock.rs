//! How far the streams have got, as the allocator asks it; a trait, so that tests turn the clock by hand.

use crate::stream_id::{StreamError, StreamId};

/// The order of work on the streams. Positions of a stream grow with each command that is encoded on it.
///
/// Every method may be called from any thread. The allocator holds its lock during all but the two that wait.
pub trait StreamClock: Send + Sync {
    /// The calling thread's stream.
    fn current(&self) -> StreamId;
    /// Position of the last command encoded on `stream`; 0 before the first.
    fn position(&self, stream: StreamId) -> u64;
    /// Whether everything up to `position` on `stream` is done.
    fn reached(&self, stream: StreamId, position: u64) -> bool;
    /// Commits what is queued and waits until [`StreamClock::reached`] holds; deferred errors stay where they are.
    fn wait(&self, stream: StreamId, position: u64);
    /// Commits and waits for the default stream, and raises what its work left behind.
    ///
    /// # Errors
    /// The deferred error of the stream.
    fn synchronize_default(&self) -> Result<(), StreamError>;
}
