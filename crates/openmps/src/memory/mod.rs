//! The caching allocator: PyTorch's MPS allocator over host memory.
//!
//! Blocks come from heaps, heaps from one reserved range of address space. Freed blocks are kept by pool, size and stream and
//! used again in stream order; heaps go back to the system when they are empty and asked for. Which block a request gets,
//! every limit, every counter and every text are those of `torch.mps` (PyTorch 2.15).
//!
//! Guarantees: blocks never overlap; a block that a command retains or a stream was recorded on is not used by others; finding
//! a block from its address takes two loads and no lock. Left out: contents (a reused block keeps its old bytes), and what
//! the streams do, which the allocator asks through [`StreamClock`].

mod allocator;
mod clock;
mod fork;
pub mod format;
mod free_list;
mod heap;
mod log;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod model;
mod pool;
mod process;
mod reclaim;
mod region;
mod reuse;
#[cfg(any(test, feature = "fuzzing"))]
mod rig;
mod size;
mod slab;
mod space;
mod state;
mod stats;
mod watermark;

use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

pub use allocator::{AllocationFailed, Allocator, AllocatorOptions};
pub use clock::StreamClock;
pub use log::{LogSink, Verbosity};
pub use process::{allocator, existing_allocator, is_arena_address, set_log_sink};
pub use size::PoolKind;
pub(crate) use stats::GAUGES;
pub use stats::{Gauges, Stat, Stats};

use crate::stream_id::{StreamError, StreamId};
use format::size as fmt;

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// A tensor's storage.
    Device,
    /// An operand of a few bytes that one command reads.
    Scalar,
    /// Memory of a CPU tensor that copies to and from the device; never handed out while a command still uses it.
    Pinned,
}

/// A handed-out block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its first address.
    pub base: NonNull<u8>,
    /// Its size after rounding.
    pub size_bytes: u64,
    /// The size that was asked for.
    pub requested_bytes: u64,
    /// Number of its buffer object, from 1; changes when the block is cut anew, not when it is reused.
    pub id: u64,
    /// What it was allocated for.
    pub usage: Usage,
    /// The stream that allocated it.
    pub stream: StreamId,
    /// Metal's count: 1 when no command holds the buffer.
    pub retain_count: u32,
    /// How often the buffer object was handed out.
    pub use_count: u32,
}

impl BlockInfo {
    /// Whether this is host memory from the pinned allocator.
    pub fn is_pinned(&self) -> bool {
        self.usage == Usage::Pinned
    }
}

/// Who is told of blocks.
#[derive(Clone, Copy)]
pub struct BlockObserver {
    /// Whether it wants to be.
    pub is_wanted: &'static AtomicBool,
    /// Called with the allocator's lock held: it must not call the allocator.
    pub tell: fn(&BlockEvent),
}

/// Bytes of the arena that have one word in [`Allocator::slots`].
pub const SLOT_UNIT_BYTES: u64 = crate::limits::SMALL_ALIGNMENT_BYTES;

/// The word in [`Allocator::slots`] of a block with which its holder has put nothing yet.
pub const EMPTY_SLOT: u64 = 1;

/// A block was handed out or became free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// Whether it was handed out.
    pub is_handed_out: bool,
    /// Its first address.
    pub address: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Its pool.
    pub pool: PoolKind,
    /// The stream that allocated it.
    pub stream: StreamId,
    /// In all blocks that are handed out or waiting for a stream, afterwards.
    pub current_bytes: u64,
    /// In all heaps, afterwards.
    pub driver_bytes: u64,
}

/// Why memory could not be had. The texts are PyTorch's; each is raised as a `RuntimeError` unless it comes from a stream.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The high watermark ratio is not 0 to 2.
    #[error("invalid high watermark ratio {}", format::double(*.0))]
    HighWatermarkRatio(f64),
    /// The low watermark ratio is not 0 to the high one.
    #[error("invalid low watermark ratio {}", format::double(*.0))]
    LowWatermarkRatio(f64),
    /// A request that reaches the longest buffer, in bytes.
    #[error("Invalid buffer size: {}", fmt(*.0))]
    InvalidBufferSize(u64),
    /// No memory is left under the hard limit or in the machine.
    #[error("{}", out_of_memory_text(*allocated_bytes, *other_bytes, *max_allowed_bytes, *need_bytes))]
    OutOfMemory {
        /// All heaps.
        allocated_bytes: u64,
        /// What else the driver allocated.
        other_bytes: u64,
        /// The hard limit, none if there is no limit.
        max_allowed_bytes: Option<u64>,
        /// The request after rounding.
        need_bytes: u64,
    },
    /// The address space for the heaps was refused.
    #[error("cannot reserve {} of address space for MPS memory: {source}", fmt(*bytes))]
    Arena {
        /// The least that was asked for.
        bytes: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// A deferred error of the default stream.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

fn out_of_memory_text(allocated: u64, other: u64, max_allowed: Option<u64>, need: u64) -> String {
    let (allocated, other, need) = (fmt(allocated), fmt(other), fmt(need));
    match max_allowed.map(fmt) {
        Some(limit) => format!(
            "MPS backend out of memory (MPS allocated: {allocated}, other allocations: {other}, max allowed: {limit}). \
             Tried to allocate {need} on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for \
             memory allocations (may cause system failure)."
        ),
        None => format!(
            "MPS backend out of memory (MPS allocated: {allocated}, other allocations: {other}). Tried to allocate {need} on \
             shared pool."
        ),
    }
}

#[cfg(test)]
mod tests;
