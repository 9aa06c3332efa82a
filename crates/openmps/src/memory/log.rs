//! The lines that `PYTORCH_DEBUG_MPS_ALLOCATOR` asks for, and where they go.

use super::size::PoolKind;

/// Bits of `PYTORCH_DEBUG_MPS_ALLOCATOR`.
pub struct Verbosity;

impl Verbosity {
    /// Start, limits and attempts to release cached memory.
    pub const PROFILING: u32 = 1;
    /// Creation of heaps and buffers.
    pub const ALLOCATIONS: u32 = 2;
    /// Reuse of cached blocks.
    pub const RECYCLES: u32 = 4;
    /// Release of buffers and heaps, garbage collection.
    pub const RELEASES: u32 = 8;
    /// No lines about buffers of small pools.
    pub const LARGE_ONLY: u32 = 16;
}

/// Takes one line without its end. Called with the allocator's lock held: it must not allocate from the allocator.
pub type LogSink = Box<dyn Fn(&str) + Send + Sync>;

/// The mask and the sink.
pub(super) struct Log {
    pub(super) verbosity: u32,
    pub(super) sink: LogSink,
}

impl Log {
    /// A line about a heap, or none in particular.
    pub(super) fn heap(&self, bits: u32, line: impl FnOnce() -> String) {
        if self.verbosity & bits != 0 {
            (self.sink)(&line());
        }
    }

    /// A line about a buffer.
    pub(super) fn buffer(&self, bits: u32, pool: PoolKind, line: impl FnOnce() -> String) {
        if self.verbosity & bits != 0 && !(pool.is_small() && self.verbosity & Verbosity::LARGE_ONLY != 0) {
            (self.sink)(&line());
        }
    }

    /// A line that any bit asks for.
    pub(super) fn any(&self, line: impl FnOnce() -> String) {
        if self.verbosity >= 1 {
            (self.sink)(&line());
        }
    }
}
