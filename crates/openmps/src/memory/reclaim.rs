//! Giving memory back: freed blocks to their pool, idle heaps to the system.

use super::clock::StreamClock;
use super::format::size as fmt;
use super::heap::HeapIndex;
use super::log::Verbosity;
use super::size::PoolKind;
use super::slab::BlockIndex;
use super::state::{Block, BlockState, State};
use std::sync::atomic::Ordering;

impl State {
    /// Takes a handed-out block back. It is free at once unless a stream was recorded on it that is not there yet; work of its
    /// own stream may still use it. A scalar operand waits for the work encoded so far, since its pool is not hazard tracked.
    pub(super) fn free(&mut self, index: BlockIndex, clock: &dyn StreamClock) {
        let pool = self.heap(self.block(index).heap).pool;
        let block = self.block_mut(index);
        if !block.events.is_empty() {
            block.events.retain(|(stream, position)| !clock.reached(*stream, *position));
        }
        if pool == PoolKind::Scalar {
            let position = clock.position(block.stream);
            if !clock.reached(block.stream, position) {
                block.events.push((block.stream, position));
            }
        }
        if block.events.is_empty() {
            self.make_free(index);
            return;
        }
        block.state = BlockState::Pending;
        self.pool_mut(pool).pending.push(index);
        self.pending_count += 1;
    }

    /// No command holds any block any more: in a forked child they are all gone.
    pub(super) fn forget_commands(&self) {
        for index in 0..self.blocks.len() {
            let index = BlockIndex(u32::try_from(index).expect("blocks are counted in 32 bits"));
            self.record(index).retained.store(0, Ordering::Release);
        }
    }

    fn make_free(&mut self, index: BlockIndex) {
        let block = self.block_mut(index);
        block.state = BlockState::Free;
        let Block { size_bytes, heap, .. } = *block;
        self.stats.allocated.sub(size_bytes);
        let heap = self.heap_mut(heap);
        heap.free_bytes += size_bytes;
        heap.free_run_bound = heap.free_bytes;
        let pool = heap.pool;
        self.stats.pools[pool.index()] -= size_bytes;
        self.shared.gauges.publish_allocated(&self.stats, pool.index());
        self.pool_mut(pool).free_bytes += size_bytes;
        self.observe(index, false);
        self.list(index);
    }

    /// Frees the pending blocks whose recorded streams have got there.
    pub(super) fn reclaim_pending(&mut self, clock: &dyn StreamClock) {
        if self.pending_count == 0 {
            return;
        }
        for kind in PoolKind::ALL {
            let mut pending = std::mem::take(&mut self.pool_mut(kind).pending);
            pending.retain(|index| {
                let block = self.block_mut(*index);
                block.events.retain(|(stream, position)| !clock.reached(*stream, *position));
                if block.events.is_empty() {
                    self.make_free(*index);
                    self.pending_count -= 1;
                    return false;
                }
                true
            });
            self.pool_mut(kind).pending = pending;
        }
    }

    /// Whether all of a heap is free and no command holds any of it.
    fn is_releasable(&self, index: HeapIndex) -> bool {
        let heap = self.heap(index);
        if heap.free_bytes != heap.size_bytes {
            return false;
        }
        let mut next = Some(heap.first);
        while let Some(block) = next {
            if self.record(block).is_retained() {
                return false;
            }
            next = self.block(block).next;
        }
        true
    }

    /// Releases idle heaps of a pool, oldest first, until `target_bytes` are gone. Returns the bytes.
    pub(super) fn release_heaps(&mut self, pool: PoolKind, target_bytes: u64) -> u64 {
        let mut released_bytes = 0;
        for heap in self.pools[pool.index()].heaps.clone() {
            if released_bytes >= target_bytes {
                break;
            }
            if self.is_releasable(heap) {
                released_bytes += self.heap(heap).size_bytes;
                self.release_heap(heap);
            }
        }
        released_bytes
    }

    /// Releases every idle heap.
    pub(super) fn release_all_heaps(&mut self) {
        for pool in PoolKind::ALL {
            self.release_heaps(pool, u64::MAX);
        }
    }

    /// Brings the memory of the process back to the soft limit as far as idle heaps of this pool allow.
    pub(super) fn collect_garbage(&mut self, pool: PoolKind) {
        let Some(target) = self.marks.low_bytes.and_then(|low| self.driver_bytes().checked_sub(low)) else { return };
        let released = self.release_heaps(pool, target);
        let heaps = self.pools[pool.index()].heaps.len();
        self.log.heap(Verbosity::RELEASES, || {
            let (released, target) = (fmt(released), fmt(target));
            format!("Garbage collected {released} from shared pool (target: {target}, #heaps: {heaps})")
        });
    }
}
