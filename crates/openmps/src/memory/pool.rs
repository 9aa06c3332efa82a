//! One pool: its heaps in order of creation, its free blocks by size, and what waits to become free.

use super::free_list::{FreeKey, FreeList};
use super::heap::HeapIndex;
use super::size::PoolKind;
use super::slab::BlockIndex;
use crate::stream_id::StreamId;

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
            Some(list) => list.insert(key),
            None => {
                let mut list = FreeList::new(stream);
                list.insert(key);
                self.free.push(list);
            }
        }
    }

    pub(super) fn remove(&mut self, stream: Option<StreamId>, key: &FreeKey) {
        let was_there = self.list_of(stream).is_some_and(|list| list.remove(key));
        assert!(was_there, "the free block {key:?} of stream {stream:?} is not in its list");
    }
}
