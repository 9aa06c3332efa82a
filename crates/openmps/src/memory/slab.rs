//! What every thread may know of a block without the allocator's lock.
//!
//! Records are never freed or moved, only used again, so a reader with a stale index reads a record of another block at worst
//! and notices by the address. All fields are atomic; they are written under the allocator's lock, except the retain count.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Usage;
use crate::stream_id::StreamId;

/// Index of a block's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlockIndex(pub(super) u32);

impl BlockIndex {
    /// The word that names the block in the arena's table.
    pub(super) fn word(self) -> u32 {
        self.0 + 1
    }

    /// The block that a word of the arena's table names.
    #[inline]
    pub(super) fn from_word(word: u32) -> Option<BlockIndex> {
        word.checked_sub(1).map(BlockIndex)
    }
}

/// The shared record of one block.
#[repr(align(64))]
#[derive(Default)]
pub(super) struct SharedBlock {
    /// First address while the block is handed out, otherwise 0. Stored last, so that who sees it sees the rest.
    pub(super) address: AtomicU64,
    pub(super) size_bytes: AtomicU64,
    pub(super) requested_bytes: AtomicU64,
    pub(super) buffer_id: AtomicU64,
    /// Queued or running commands that hold the block.
    pub(super) retained: AtomicU32,
    pub(super) use_count: AtomicU32,
    usage: AtomicU32,
    stream: AtomicU32,
}

impl SharedBlock {
    pub(super) fn is_retained(&self) -> bool {
        self.retained.load(Ordering::Acquire) != 0
    }

    pub(super) fn set_usage(&self, usage: Usage) {
        let word = match usage {
            Usage::Device => 0,
            Usage::Scalar => 1,
            Usage::Pinned => 2,
        };
        self.usage.store(word, Ordering::Relaxed);
    }

    pub(super) fn usage(&self) -> Usage {
        match self.usage.load(Ordering::Relaxed) {
            0 => Usage::Device,
            1 => Usage::Scalar,
            2 => Usage::Pinned,
            word => unreachable!("usage word {word} was never stored"),
        }
    }

    pub(super) fn set_stream(&self, stream: StreamId) {
        self.stream.store(stream.0, Ordering::Relaxed);
    }

    pub(super) fn stream(&self) -> StreamId {
        StreamId(self.stream.load(Ordering::Relaxed))
    }

    /// One holder less; false if there was none.
    pub(super) fn release(&self) -> bool {
        self.retained.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
    }
}

/// Records in the first chunk; each further chunk holds twice as many as the one before.
const FIRST_CHUNK: u32 = 1024;
/// Enough chunks for every index below 2^32 - 1024.
const CHUNKS: usize = 22;

/// The records of all blocks there ever were.
#[derive(Default)]
pub(super) struct Slab {
    chunks: [OnceLock<Box<[SharedBlock]>>; CHUNKS],
}

impl Slab {
    /// Chunk and place in it.
    #[inline]
    fn locate(index: BlockIndex) -> (usize, usize) {
        let chunk = (index.0 / FIRST_CHUNK + 1).ilog2();
        let first = ((1u32 << chunk) - 1) * FIRST_CHUNK;
        (chunk as usize, (index.0 - first) as usize)
    }

    /// Makes the record of `index` exist.
    pub(super) fn ensure(&self, index: BlockIndex) {
        let (chunk, _) = Slab::locate(index);
        self.chunks[chunk].get_or_init(|| (0..FIRST_CHUNK << chunk).map(|_| SharedBlock::default()).collect());
    }

    /// The record of a block that exists.
    #[inline]
    pub(super) fn get(&self, index: BlockIndex) -> &SharedBlock {
        let (chunk, place) = Slab::locate(index);
        let chunk = self.chunks[chunk].get().expect("a block's record exists before its index is published");
        &chunk[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_fill_the_chunks_without_gap_or_overlap() {
        let mut expected = (0, 0);
        for index in 0..10 * FIRST_CHUNK {
            assert_eq!(Slab::locate(BlockIndex(index)), expected);
            expected.1 += 1;
            if expected.1 == (FIRST_CHUNK as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(Slab::locate(BlockIndex(u32::MAX - FIRST_CHUNK)).0, CHUNKS - 1);
    }

    #[test]
    fn releasing_what_nobody_holds_is_refused() {
        let block = SharedBlock::default();
        assert!(!block.release());
        block.retained.store(2, Ordering::Relaxed);
        assert!(block.release() && block.is_retained());
        assert!(block.release() && !block.is_retained());
        assert!(!block.release());
    }
}
