//! Finding a cached block for a request: same stream, best fit, coalescing, in PyTorch's order.

use std::sync::atomic::Ordering;

use super::Usage;
use super::format::size as fmt;
use super::free_list::FreeList;
use super::heap::HeapIndex;
use super::log::Verbosity;
use super::slab::BlockIndex;
use super::state::{BlockState, Request, State, retain_count, scalar_word};
use crate::limits::BEST_FIT_BUSY_BLOCKS_MAX;

impl State {
    /// A cached block, placed and in no list; none if the hard limit forbids more memory or nothing fits.
    pub(super) fn reuse(&mut self, request: &Request) -> Option<BlockIndex> {
        if self.marks.is_over_high(self.driver_bytes(), request.rounded.aligned_bytes) {
            return None;
        }
        self.reuse_own(request).or_else(|| self.best_fit(request)).or_else(|| self.coalesce(request))
    }

    /// The smallest fitting block of the same stream, buffer and all, if hardly larger. It may be in flight: the stream's
    /// order keeps the old work before the new. The host knows no such order, so pinned memory must be idle.
    fn reuse_own(&mut self, request: &Request) -> Option<BlockIndex> {
        let need = request.rounded.need_bytes;
        let pool = &mut self.pools[request.rounded.pool.index()];
        let min_split = pool.kind.min_split_bytes();
        let list = pool.list_of(Some(request.stream))?;
        let key = list.fit(need, min_split)?;
        if request.usage == Usage::Pinned && self.shared.slab.get(key.block).is_retained() {
            return None;
        }
        list.take_fit(&key);
        let record = self.shared.slab.get(key.block);
        self.log.buffer(Verbosity::RECYCLES, request.rounded.pool, || {
            let (scalar, size) = (scalar_word(request.rounded.pool), fmt(key.size_bytes));
            let (id, requested) = (record.buffer_id.load(Ordering::Relaxed), fmt(request.requested_bytes));
            let (address, retained) = (super::region::pointer_to(key.address), retain_count(record));
            let uses = record.use_count.load(Ordering::Relaxed) + 1;
            format!(
                "Reusing shared{scalar} buffer #{id} of size {size} at {address:p} \
                 (requested: {requested}, use#: {uses}, retain#: {retained})"
            )
        });
        Some(key.block)
    }

    /// The smallest fitting block of any stream that nothing uses, with a new buffer over it.
    fn best_fit(&mut self, request: &Request) -> Option<BlockIndex> {
        let slab = &self.shared.slab;
        let first_idle = |list: &mut FreeList| {
            list.at_least(request.rounded.need_bytes)
                .take(BEST_FIT_BUSY_BLOCKS_MAX)
                .find(|key| !slab.get(key.block).is_retained())
                .copied()
        };
        let best = self.pools[request.rounded.pool.index()].free.iter_mut().filter_map(first_idle).min()?;
        self.unlist(best.block);
        self.place(best.block, request);
        Some(best.block)
    }

    /// Joins neighbors in the oldest heap where enough free, idle bytes lie in a row.
    fn coalesce(&mut self, request: &Request) -> Option<BlockIndex> {
        let need = request.rounded.need_bytes;
        for at in 0..self.pools[request.rounded.pool.index()].heaps.len() {
            let heap = self.pools[request.rounded.pool.index()].heaps[at];
            if self.heap(heap).free_run_bound < need {
                continue;
            }
            if let Some((first, count)) = self.free_run(heap, need) {
                self.merge(first, count);
                self.place(first, request);
                return Some(first);
            }
        }
        None
    }

    /// The first run of free, idle blocks of `need_bytes` or more: its first block and how many. Without one, learns how long
    /// a run there can be at most: a busy block becomes idle without telling, so it counts.
    fn free_run(&mut self, heap: HeapIndex, need_bytes: u64) -> Option<(BlockIndex, usize)> {
        let mut next = Some(self.heap(heap).first);
        let mut run: Option<(BlockIndex, usize, u64)> = None;
        let (mut free_bytes, mut free_bytes_max) = (0, 0);
        while let Some(index) = next {
            let block = self.block(index);
            next = block.next;
            if block.state != BlockState::Free {
                (run, free_bytes) = (None, 0);
                continue;
            }
            free_bytes += block.size_bytes;
            free_bytes_max = free_bytes_max.max(free_bytes);
            if self.record(index).is_retained() {
                run = None;
                continue;
            }
            let (first, count, bytes) = run.unwrap_or((index, 0, 0));
            run = Some((first, count + 1, bytes + block.size_bytes));
            if bytes + block.size_bytes >= need_bytes {
                return Some((first, count + 1));
            }
        }
        self.heap_mut(heap).free_run_bound = free_bytes_max;
        None
    }
}
