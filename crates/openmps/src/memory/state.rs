//! What the allocator's lock protects: heaps, blocks, pools and counters, and the steps that keep them consistent.
//!
//! Invariants, between any two calls: the blocks of a heap cover it without gap or overlap, linked in address order; each block
//! start has its word in the arena's table and its bit in the heap; every free block is in exactly one free list of its
//! pool; `free_bytes` and the counters are sums over the blocks. Finding a block is in `reuse.rs`, giving memory back in
//! `reclaim.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::AllocationFailed;
use super::format::size as fmt;
use super::free_list::FreeKey;
use super::heap::{Heap, HeapIndex};
use super::log::{Log, Verbosity};
use super::pool::Pool;
use super::region::{Arena, pointer_to};
use super::size::{PoolKind, Rounded, heap_bytes, heap_cap_bytes};
use super::slab::{BlockIndex, SharedBlock, Slab};
use super::space::Space;
use super::stats::{PublishedGauges, Stats};
use super::watermark::Watermarks;
use super::{BlockEvent, BlockObserver, EMPTY_SLOT, Usage};
use crate::stream_id::StreamId;

/// What readers without the lock see.
pub(super) struct Shared {
    pub(super) arena: Arena,
    pub(super) slab: Slab,
    pub(super) gauges: PublishedGauges,
}

impl Shared {
    /// The record of the block that starts at `address`, handed out or not.
    #[inline]
    pub(super) fn record_at(&self, address: u64) -> Option<(BlockIndex, &SharedBlock)> {
        let index = BlockIndex::from_word(self.arena.block_at(address))?;
        Some((index, self.slab.get(index)))
    }

    /// The record of the block that is handed out at `address`.
    #[inline]
    pub(super) fn live_at(&self, address: u64) -> Option<(BlockIndex, &SharedBlock)> {
        self.record_at(address).filter(|(_, record)| record.address.load(Ordering::Acquire) == address)
    }
}

/// What a block is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// The record is not in use.
    Vacant,
    /// Cached.
    Free,
    /// Handed out.
    Live,
    /// Freed by its holder, but streams that were recorded on it have not got there yet.
    Pending,
}

/// A block as the lock's holder sees it.
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) size_bytes: u64,
    pub(super) heap: HeapIndex,
    pub(super) previous: Option<BlockIndex>,
    pub(super) next: Option<BlockIndex>,
    pub(super) state: BlockState,
    /// Whether a buffer object lies over the range; a remainder of a split has none until it is placed.
    pub(super) has_buffer: bool,
    /// The stream that last allocated the buffer.
    pub(super) stream: StreamId,
    /// Latest position per stream that was recorded on the block.
    pub(super) events: Vec<(StreamId, u64)>,
}

/// One allocation on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) requested_bytes: u64,
    pub(super) rounded: Rounded,
    pub(super) usage: Usage,
    pub(super) stream: StreamId,
    pub(super) has_pressure: bool,
}

/// Everything behind the lock.
pub(super) struct State {
    pub(super) shared: Arc<Shared>,
    pub(super) marks: Watermarks,
    pub(super) log: Log,
    pub(super) stats: Stats,
    pub(super) pools: [Pool; 3],
    pub(super) blocks: Vec<Block>,
    pub(super) heaps: Vec<Option<Heap>>,
    pub(super) heaps_by_address: BTreeMap<u64, HeapIndex>,
    /// Blocks in all pending lists together.
    pub(super) pending_count: usize,
    pub(super) on_allocation_failed: Vec<Arc<AllocationFailed>>,
    observer: Option<BlockObserver>,
    space: Space,
    vacant_blocks: Vec<BlockIndex>,
    vacant_heaps: Vec<HeapIndex>,
    max_heap_bytes: u64,
    heap_cap_bytes: u64,
    last_heap_id: u64,
    last_buffer_id: u64,
}

impl State {
    pub(super) fn new(
        shared: Arc<Shared>,
        marks: Watermarks,
        log: Log,
        max_heap_bytes: u64,
        observer: Option<BlockObserver>,
    ) -> State {
        let heap_cap_bytes = heap_cap_bytes(max_heap_bytes.min(marks.recommended_bytes));
        let space = Space::new(shared.arena.base(), shared.arena.bytes());
        let state = State {
            shared,
            marks,
            log,
            stats: Stats::default(),
            pools: PoolKind::ALL.map(Pool::new),
            blocks: Vec::new(),
            heaps: Vec::new(),
            heaps_by_address: BTreeMap::new(),
            pending_count: 0,
            on_allocation_failed: Vec::new(),
            observer,
            space,
            vacant_blocks: Vec::new(),
            vacant_heaps: Vec::new(),
            max_heap_bytes,
            heap_cap_bytes,
            last_heap_id: 0,
            last_buffer_id: 0,
        };
        state.publish();
        state
    }

    /// Lets readers without the lock see the counters.
    pub(super) fn publish(&self) {
        self.shared.gauges.publish(&self.stats, self.marks.low_bytes, self.marks.high_bytes);
    }

    /// Bytes of all heaps.
    pub(super) fn total_bytes(&self) -> u64 {
        self.stats.reserved.current
    }

    /// Bytes that the driver gave to the process. Host memory that is no heap is not the driver's, so it is the heaps.
    pub(super) fn driver_bytes(&self) -> u64 {
        self.stats.reserved.current
    }

    pub(super) fn block(&self, index: BlockIndex) -> &Block {
        &self.blocks[index.0 as usize]
    }

    pub(super) fn block_mut(&mut self, index: BlockIndex) -> &mut Block {
        &mut self.blocks[index.0 as usize]
    }

    pub(super) fn heap(&self, index: HeapIndex) -> &Heap {
        self.heaps[index.0 as usize].as_ref().expect("blocks and pools name existing heaps")
    }

    pub(super) fn heap_mut(&mut self, index: HeapIndex) -> &mut Heap {
        self.heaps[index.0 as usize].as_mut().expect("blocks and pools name existing heaps")
    }

    pub(super) fn pool_mut(&mut self, kind: PoolKind) -> &mut Pool {
        &mut self.pools[kind.index()]
    }

    pub(super) fn record(&self, index: BlockIndex) -> &SharedBlock {
        self.shared.slab.get(index)
    }

    /// A free block without buffer, in no list yet; its word and bit are set.
    fn new_block(
        &mut self,
        address: u64,
        size_bytes: u64,
        heap: HeapIndex,
        previous: Option<BlockIndex>,
        next: Option<BlockIndex>,
    ) -> BlockIndex {
        let block = Block {
            address,
            size_bytes,
            heap,
            previous,
            next,
            state: BlockState::Free,
            has_buffer: false,
            stream: StreamId::DEFAULT,
            events: Vec::new(),
        };
        let index = if let Some(index) = self.vacant_blocks.pop() {
            *self.block_mut(index) = block;
            index
        } else {
            let index = BlockIndex(u32::try_from(self.blocks.len()).expect("2^32 blocks need a terabyte"));
            self.shared.slab.ensure(index);
            self.blocks.push(block);
            index
        };
        self.shared.arena.set_block(address, index.word());
        index
    }

    /// Forgets a free block that is in no list any more.
    fn vacate(&mut self, index: BlockIndex) {
        self.block_mut(index).state = BlockState::Vacant;
        self.vacant_blocks.push(index);
    }

    pub(super) fn free_key(&self, index: BlockIndex) -> FreeKey {
        let block = self.block(index);
        FreeKey {
            size_bytes: block.size_bytes,
            heap_id: self.heap(block.heap).id,
            address: block.address,
            block: index,
        }
    }

    /// Puts a free block into the list it belongs to.
    pub(super) fn list(&mut self, index: BlockIndex) {
        let key = self.free_key(index);
        let block = self.block(index);
        let stream = block.has_buffer.then_some(block.stream);
        let pool = self.heap(block.heap).pool;
        self.pool_mut(pool).insert(stream, key);
    }

    /// Takes a free block out of its list.
    pub(super) fn unlist(&mut self, index: BlockIndex) {
        let key = self.free_key(index);
        let block = self.block(index);
        let stream = block.has_buffer.then_some(block.stream);
        let pool = self.heap(block.heap).pool;
        self.pool_mut(pool).remove(stream, &key);
    }

    /// Creates a heap for the request; its one block is free, without buffer and in no list. None if the hard limit or the
    /// memory of the machine does not allow it.
    pub(super) fn new_heap(&mut self, request: &Request) -> Option<BlockIndex> {
        let need = request.rounded.need_bytes;
        if self.marks.is_over_high(self.driver_bytes(), need) {
            return None;
        }
        let size_bytes = heap_bytes(need, request.has_pressure, self.heap_cap_bytes);
        if self.total_bytes().saturating_add(size_bytes) > self.max_heap_bytes {
            return None;
        }
        let base = self.space.take(size_bytes)?;
        if self.shared.arena.commit(base, size_bytes).is_err() {
            self.space.give(base, size_bytes);
            return None;
        }
        self.last_heap_id += 1;
        let index = self.vacant_heaps.pop().unwrap_or_else(|| {
            self.heaps.push(None);
            HeapIndex(u32::try_from(self.heaps.len() - 1).expect("a heap takes 2 MiB or more"))
        });
        let first = self.new_block(base, size_bytes, index, None, None);
        let pool = request.rounded.pool;
        self.heaps[index.0 as usize] = Some(Heap::new(self.last_heap_id, pool, base, size_bytes, first));
        self.heaps_by_address.insert(base, index);
        self.stats.reserved.add(size_bytes);
        self.publish();
        let pool = self.pool_mut(pool);
        pool.heaps.push(index);
        pool.free_bytes += size_bytes;
        let heaps = pool.heaps.len();
        let (id, driver) = (self.last_heap_id, self.driver_bytes());
        self.log.heap(Verbosity::ALLOCATIONS, || {
            let (size, current) = (fmt(size_bytes), fmt(driver));
            format!("Allocated shared heap #{id} of size {size} (#heaps: {heaps}, current allocated: {current})")
        });
        Some(first)
    }

    /// Gives a heap back whose blocks are all free and idle.
    pub(super) fn release_heap(&mut self, index: HeapIndex) {
        let mut next = Some(self.heap(index).first);
        while let Some(block) = next {
            next = self.block(block).next;
            self.unlist(block);
            self.log_release(block);
            self.vacate(block);
        }
        let heap = self.heaps[index.0 as usize].take().expect("pools name existing heaps");
        self.shared.arena.decommit(heap.base, heap.size_bytes);
        self.space.give(heap.base, heap.size_bytes);
        self.heaps_by_address.remove(&heap.base);
        self.vacant_heaps.push(index);
        self.stats.reserved.sub(heap.size_bytes);
        self.publish();
        let pool = self.pool_mut(heap.pool);
        pool.heaps.retain(|other| *other != index);
        pool.free_bytes -= heap.size_bytes;
        let driver = self.driver_bytes();
        self.log.heap(Verbosity::RELEASES, || {
            let (id, size, current) = (heap.id, fmt(heap.size_bytes), fmt(driver));
            format!("Released heap #{id} of size {size} (current allocated: {current}, retain#: 1)")
        });
    }

    fn log_release(&self, index: BlockIndex) {
        let block = self.block(index);
        if !block.has_buffer {
            return;
        }
        let (heap, record) = (self.heap(block.heap), self.record(index));
        self.log.buffer(Verbosity::RELEASES, heap.pool, || {
            let (size, id) = (fmt(block.size_bytes), heap.id);
            let (uses, retained) = (record.use_count.load(Ordering::Relaxed), retain_count(record));
            format!("Released buffer of size {size} from heap #{id} (use#: {uses}, retain#: {retained})")
        });
    }

    /// Cuts what a block has beyond `need_bytes` into a block of its own, if that is enough to be worth it.
    fn split(&mut self, index: BlockIndex, need_bytes: u64) {
        let Block { address, size_bytes, heap, next, .. } = *self.block(index);
        let surplus = size_bytes - need_bytes;
        if surplus < self.heap(heap).pool.min_split_bytes() {
            return;
        }
        let rest = self.new_block(address + need_bytes, surplus, heap, Some(index), next);
        if let Some(next) = next {
            self.block_mut(next).previous = Some(rest);
        }
        let block = self.block_mut(index);
        block.next = Some(rest);
        block.size_bytes = need_bytes;
        self.heap_mut(heap).set_start(address + need_bytes);
        self.list(rest);
    }

    /// Joins a run of `count` free, idle blocks from `first` into one without buffer, in no list.
    pub(super) fn merge(&mut self, first: BlockIndex, count: usize) {
        self.unlist(first);
        self.log_release(first);
        self.block_mut(first).has_buffer = false;
        for _ in 1..count {
            let gone = self.block(first).next.expect("the run was walked along these links");
            self.unlist(gone);
            self.log_release(gone);
            let Block { address, size_bytes, heap, next, .. } = *self.block(gone);
            self.shared.arena.set_block(address, 0);
            self.heap_mut(heap).clear_start(address);
            if let Some(next) = next {
                self.block_mut(next).previous = Some(first);
            }
            let block = self.block_mut(first);
            block.next = next;
            block.size_bytes += size_bytes;
            self.vacate(gone);
        }
    }

    /// Places a new buffer object over a free, idle block that is in no list, cut to the request.
    pub(super) fn place(&mut self, index: BlockIndex, request: &Request) {
        self.split(index, request.rounded.need_bytes);
        self.last_buffer_id += 1;
        let id = self.last_buffer_id;
        let block = self.block_mut(index);
        block.has_buffer = true;
        block.stream = request.stream;
        let record = self.record(index);
        record.buffer_id.store(id, Ordering::Relaxed);
        record.use_count.store(0, Ordering::Relaxed);
        let (block, pool) = (self.block(index), request.rounded.pool);
        self.log.buffer(Verbosity::ALLOCATIONS, pool, || {
            let heap = self.heap(block.heap);
            let (scalar, size, address) = (scalar_word(pool), fmt(block.size_bytes), pointer_to(block.address));
            let (offset, heap_id) = (fmt(block.address - heap.base), heap.id);
            let (free, total) = (fmt(heap.free_bytes - block.size_bytes), fmt(self.total_bytes()));
            format!(
                "Allocated shared{scalar} buffer #{id} of size {size} at {address:p} from heap #{heap_id} \
                 (offset: {offset}, heap free: {free}, total: {total})"
            )
        });
    }

    /// Hands a placed, free block that is in no list to its new holder.
    pub(super) fn hand_out(&mut self, index: BlockIndex, request: &Request) -> u64 {
        let block = self.block_mut(index);
        block.state = BlockState::Live;
        let Block { address, size_bytes, heap, .. } = *block;
        self.heap_mut(heap).free_bytes -= size_bytes;
        self.pool_mut(request.rounded.pool).free_bytes -= size_bytes;
        self.stats.allocated.add(size_bytes);
        let pool = request.rounded.pool.index();
        self.stats.pools[pool] += size_bytes;
        self.shared.gauges.publish_allocated(&self.stats, pool);
        let record = self.record(index);
        // Written under the lock alone, so no atomic addition is needed.
        record.use_count.store(record.use_count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        record.size_bytes.store(size_bytes, Ordering::Relaxed);
        record.requested_bytes.store(request.requested_bytes, Ordering::Relaxed);
        record.set_usage(request.usage);
        record.set_stream(request.stream);
        record.address.store(address, Ordering::Release);
        self.shared.arena.set_slot(address, EMPTY_SLOT);
        self.observe(index, true);
        address
    }

    /// Tells the observer that a block was handed out or became free.
    pub(super) fn observe(&self, index: BlockIndex, is_handed_out: bool) {
        if let Some(observer) = self.observer
            && observer.is_wanted.load(Ordering::Relaxed)
        {
            let Block { address, size_bytes, heap, .. } = *self.block(index);
            (observer.tell)(&BlockEvent {
                is_handed_out,
                address,
                size_bytes,
                pool: self.heap(heap).pool,
                stream: self.record(index).stream(),
                current_bytes: self.stats.allocated.current,
                driver_bytes: self.driver_bytes(),
            });
        }
    }
}

/// Metal's retain count of a buffer: its owner's one and one for each command.
pub(super) fn retain_count(record: &SharedBlock) -> u32 {
    record.retained.load(Ordering::Acquire).saturating_add(1)
}

pub(super) fn scalar_word(pool: PoolKind) -> &'static str {
    match pool {
        PoolKind::Scalar => " scalar",
        PoolKind::Small | PoolKind::Large => "",
    }
}
