//! One pool: its heaps in order of creation, its free blocks by size, and what waits to become free.

use std::collections::BTreeSet;

use super::heap::HeapIndex;
use super::size::PoolKind;
use super::slab::BlockIndex;
use crate::stream_id::StreamId;

/// A free block in the order of best fit: smallest first, then oldest heap, then lowest address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FreeKey {
    pub(super) size_bytes: u64,
    pub(super) heap_id: u64,
    pub(super) address: u64,
    pub(super) block: BlockIndex,
}

impl FreeKey {
    /// Not above any block of `size_bytes` or more.
    pub(super) fn at_least(size_bytes: u64) -> FreeKey {
        FreeKey { size_bytes, heap_id: 0, address: 0, block: BlockIndex(0) }
    }
}

/// The free blocks whose buffer was last allocated by one stream, or those without a buffer.
pub(super) struct FreeList {
    pub(super) stream: Option<StreamId>,
    pub(super) blocks: BTreeSet<FreeKey>,
}

/// A pool.
pub(super) struct Pool {
    pub(super) kind: PoolKind,
    /// Oldest first.
    pub(super) heaps: Vec<HeapIndex>,
    /// Sum over the heaps.
    pub(super) free_bytes: u64,
    /// Freed blocks that recorded streams may still use.
    pub(super) pending: Vec<BlockIndex>,
    /// A list a stream that ever had a free block here; few, so they are searched in order.
    pub(super) free: Vec<FreeList>,
}

impl Pool {
    pub(super) fn new(kind: PoolKind) -> Pool {
        Pool { kind, heaps: Vec::new(), free_bytes: 0, pending: Vec::new(), free: Vec::new() }
    }

    pub(super) fn list_of(&mut self, stream: Option<StreamId>) -> Option<&mut FreeList> {
        self.free.iter_mut().find(|list| list.stream == stream)
    }

    pub(super) fn insert(&mut self, stream: Option<StreamId>, key: FreeKey) {
        match self.list_of(stream) {
            Some(list) => {
                list.blocks.insert(key);
            }
            None => self.free.push(FreeList { stream, blocks: BTreeSet::from([key]) }),
        }
    }

    pub(super) fn remove(&mut self, stream: Option<StreamId>, key: &FreeKey) {
        let was_there = self.list_of(stream).is_some_and(|list| list.blocks.remove(key));
        assert!(was_there, "the free block {key:?} of stream {stream:?} is not in its list");
    }
}
