//! The allocator as its users see it: one lock around [`super::state::State`], and look-ups without it.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clock::StreamClock;
use super::format::size as fmt;
use super::log::{Log, LogSink, Verbosity};
use super::region::{Arena, address_of, pointer_to};
use super::size::round;
use super::slab::{BlockIndex, SharedBlock, Slab};
use super::state::{Request, Shared, State, retain_count};
use super::stats::{Gauges, PublishedGauges, Stats};
use super::watermark::Watermarks;
use super::{BlockInfo, BlockObserver, MemoryError, Usage};
use crate::stream_id::{StreamError, StreamId};

/// What an allocator is made with.
pub struct AllocatorOptions {
    /// What the ratios refer to, in bytes.
    pub recommended_max_bytes: u64,
    /// Requests must be smaller, in bytes.
    pub max_buffer_length_bytes: u64,
    /// Heaps together are at most this large, in bytes, even without a watermark.
    pub max_heap_bytes: u64,
    /// Hard limit as a share of the recommended maximum.
    pub high_watermark_ratio: f64,
    /// Soft limit as a share of the recommended maximum.
    pub low_watermark_ratio: f64,
    /// Address space to reserve at best and at least, in bytes.
    pub arena_bytes: (u64, u64),
    /// Bits of [`Verbosity`].
    pub verbosity: u32,
    /// Where log lines go.
    pub log: LogSink,
    /// Whether memory that is handed out is filled with a pattern.
    pub trash: bool,
    /// Told of every block that is handed out or becomes free.
    pub observer: Option<BlockObserver>,
}

/// Called with no lock held when nothing cached fits and no heap can be made; may free memory of the allocator.
pub type AllocationFailed = Box<dyn Fn() + Send + Sync>;

/// The caching allocator. All methods may be called from any thread.
pub struct Allocator {
    shared: Arc<Shared>,
    state: Mutex<State>,
    clock: Box<dyn StreamClock>,
    max_buffer_length_bytes: u64,
    recommended_max_bytes: u64,
    trash: bool,
}

/// What fresh memory is filled with under `OPENMPS_DEBUG=trash`: as a float a huge negative number, as an integer odd.
const TRASH: u8 = 0xfb;

impl Allocator {
    /// An allocator with its own arena.
    ///
    /// # Errors
    /// [`MemoryError::HighWatermarkRatio`] or [`MemoryError::LowWatermarkRatio`], high first; [`MemoryError::Arena`].
    pub fn new(options: AllocatorOptions, clock: Box<dyn StreamClock>) -> Result<Allocator, MemoryError> {
        let marks =
            Watermarks::new(options.recommended_max_bytes, options.high_watermark_ratio, options.low_watermark_ratio)?;
        let log = Log { verbosity: options.verbosity, sink: options.log };
        log_high_watermark(&log, &marks);
        log_low_watermark(&log, &marks);
        log.heap(Verbosity::PROFILING, || {
            let size = fmt(options.recommended_max_bytes);
            format!("Initializing heap allocator on unified device memory of size {size}")
        });
        let (bytes_max, bytes_min) = options.arena_bytes;
        let arena =
            Arena::reserve(bytes_max, bytes_min).map_err(|source| MemoryError::Arena { bytes: bytes_min, source })?;
        let shared = Arc::new(Shared { arena, slab: Slab::default(), gauges: PublishedGauges::default() });
        Ok(Allocator {
            state: Mutex::new(State::new(Arc::clone(&shared), marks, log, options.max_heap_bytes, options.observer)),
            shared,
            clock,
            max_buffer_length_bytes: options.max_buffer_length_bytes,
            recommended_max_bytes: options.recommended_max_bytes,
            trash: options.trash,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug in the state, which later calls would report again; they are not refused for it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block of at least `size_bytes` for the calling thread's stream; its contents are whatever they were.
    ///
    /// The block is aligned to 256 bytes, from 1 MiB on to 16 KiB.
    ///
    /// # Errors
    /// [`MemoryError::InvalidBufferSize`], [`MemoryError::OutOfMemory`], or a deferred error of the default stream, which is
    /// synchronized before memory is declared out.
    pub fn allocate(&self, size_bytes: u64, usage: Usage) -> Result<NonNull<u8>, MemoryError> {
        let stream = self.clock.current();
        let mut state = self.lock();
        state.reclaim_pending(&*self.clock);
        if size_bytes >= self.max_buffer_length_bytes {
            return Err(MemoryError::InvalidBufferSize(size_bytes));
        }
        let rounded = round(size_bytes, usage, self.max_buffer_length_bytes);
        let has_pressure = !rounded.pool.is_small() && state.marks.low_value(state.driver_bytes()) <= 0;
        let request = Request { requested_bytes: size_bytes, rounded, usage, stream, has_pressure };
        let address = match state.reuse(&request) {
            Some(block) => state.hand_out(block, &request),
            None => {
                let (mut state, block) = self.allocate_slowly(state, &request)?;
                state.hand_out(block, &request)
            }
        };
        if self.trash {
            self.fill_with_trash(address);
        }
        Ok(pointer_to(address))
    }

    /// PyTorch's ladder of measures when nothing cached fits; stops at the first that helps.
    fn allocate_slowly<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        request: &Request,
    ) -> Result<(MutexGuard<'a, State>, BlockIndex), MemoryError> {
        let pool = request.rounded.pool;
        let need = request.rounded.need_bytes;
        if request.has_pressure && need < state.pools[pool.index()].free_bytes {
            state.collect_garbage(pool);
        }
        if let Some(block) = place_in_new_heap(&mut state, request) {
            return Ok((state, block));
        }

        let callbacks = state.on_allocation_failed.clone();
        drop(state);
        for callback in callbacks {
            callback();
        }
        state = self.lock();
        if let Some(block) = state.reuse(request) {
            return Ok((state, block));
        }

        if state.release_heaps(pool, need) >= need
            && let Some(block) = place_in_new_heap(&mut state, request)
        {
            return Ok((state, block));
        }

        state = self.release_cached(state)?;
        if let Some(block) = reuse_or_new_heap(&mut state, request) {
            return Ok((state, block));
        }

        state = self.wait_for_pending(state, request);
        match reuse_or_new_heap(&mut state, request) {
            Some(block) => Ok((state, block)),
            None => Err(out_of_memory(&state, need)),
        }
    }

    /// Synchronizes the default stream without the lock, then releases every idle heap.
    fn release_cached<'a>(&'a self, state: MutexGuard<'a, State>) -> Result<MutexGuard<'a, State>, StreamError> {
        state.log.any(|| {
            let (total, other) = (fmt(state.total_bytes()), fmt(state.driver_bytes() - state.total_bytes()));
            format!("Attempting to release cached buffers (MPS allocated: {total}, other allocations: {other})")
        });
        drop(state);
        self.clock.synchronize_default()?;
        let mut state = self.lock();
        state.reclaim_pending(&*self.clock);
        state.release_all_heaps();
        Ok(state)
    }

    /// Waits without the lock for the streams that hold this pool's pending blocks.
    fn wait_for_pending<'a>(&'a self, state: MutexGuard<'a, State>, request: &Request) -> MutexGuard<'a, State> {
        let pending = &state.pools[request.rounded.pool.index()].pending;
        let events: Vec<_> = pending.iter().flat_map(|block| state.block(*block).events.clone()).collect();
        drop(state);
        for (stream, position) in events {
            self.clock.wait(stream, position);
        }
        let mut state = self.lock();
        state.reclaim_pending(&*self.clock);
        state
    }

    fn fill_with_trash(&self, address: u64) {
        let Some((_, record)) = self.shared.live_at(address) else { return };
        if !record.is_retained() {
            let bytes = record.size_bytes.load(Ordering::Relaxed);
            // SAFETY: the block was handed out by this call, its caller does not have it yet, and no command holds it.
            unsafe { self.shared.arena.fill(address, bytes, TRASH) };
        }
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// - `address` came from [`Allocator::allocate`] of this allocator and was not freed since.
    /// - Nothing uses it any more except commands already encoded on the stream that allocated it, commands that retain it,
    ///   and streams that were recorded on it.
    ///
    /// # Panics
    /// If no block is handed out at `address`, and nothing else has happened to be since.
    pub unsafe fn free(&self, address: NonNull<u8>) {
        let mut state = self.lock();
        let address = address_of(address.as_ptr());
        let Some((index, record)) = self.shared.live_at(address) else {
            panic!("no block of the MPS allocator is handed out at {address:#x}")
        };
        record.address.store(0, Ordering::Release);
        self.shared.arena.set_slot(address, 0);
        state.free(index, &*self.clock);
    }

    /// The hard and the soft limit of the watermarks, in bytes; none is unlimited.
    pub fn limits(&self) -> (Option<u64>, Option<u64>) {
        let state = self.lock();
        (state.marks.high_bytes, state.marks.low_bytes)
    }

    /// The handed-out block whose first address is `address`. Without a lock.
    pub fn block(&self, address: *const u8) -> Option<BlockInfo> {
        let (_, record) = self.shared.live_at(address_of(address))?;
        Some(info(address_of(address), record))
    }

    /// The handed-out block that `address` lies in.
    pub fn block_containing(&self, address: *const u8) -> Option<BlockInfo> {
        let address = address_of(address);
        if !self.shared.arena.contains(address) {
            return None;
        }
        let state = self.lock();
        let (_, heap) = state.heaps_by_address.range(..=address).next_back()?;
        let heap = state.heap(*heap);
        if address >= heap.base + heap.size_bytes {
            return None;
        }
        let base = heap.start_before(address);
        let (_, record) = self.shared.live_at(base)?;
        Some(info(base, record))
    }

    /// The first address of the arena, and a word for every 256 bytes of it. A word is 0 where no block is handed out. At the
    /// first address of one it starts as [`EMPTY_SLOT`](super::EMPTY_SLOT), and belongs to the block's holder: it may be
    /// anything but 0. All words can be read at any time; others than those of handed-out blocks cannot be written.
    pub fn slots(&self) -> (u64, &[AtomicU64]) {
        (self.shared.arena.base(), self.shared.arena.slots())
    }

    /// A queued command holds the block handed out at `address`: it may be freed, but is neither split, merged, released nor
    /// given to another stream until [`Allocator::release`]. False if there is no such block. Without a lock.
    pub fn retain(&self, address: *const u8) -> bool {
        let Some((_, record)) = self.shared.live_at(address_of(address)) else { return false };
        record.retained.fetch_add(1, Ordering::AcqRel);
        true
    }

    /// The command is done; undoes one successful [`Allocator::retain`], also after the block was freed. Without a lock.
    pub fn release(&self, address: *const u8) {
        if let Some((_, record)) = self.shared.record_at(address_of(address)) {
            record.release();
        }
    }

    /// `Tensor.record_stream`: the block is not used again until all that is encoded on `stream` by now is done. Nothing
    /// happens if no block is handed out at `address`.
    pub fn record_stream(&self, address: *const u8, stream: StreamId) {
        let mut state = self.lock();
        if let Some((index, _)) = self.shared.live_at(address_of(address)) {
            self.record(&mut state, index, stream);
        }
    }

    fn record(&self, state: &mut State, index: BlockIndex, stream: StreamId) {
        let position = self.clock.position(stream);
        let events = &mut state.block_mut(index).events;
        match events.iter_mut().find(|event| event.0 == stream) {
            Some(event) => event.1 = position,
            None => events.push((stream, position)),
        }
    }

    /// Records each block's own stream on it; whether any block was known.
    pub fn record_events(&self, addresses: &[*const u8]) -> bool {
        let mut state = self.lock();
        let mut is_any = false;
        for address in addresses {
            if let Some((index, record)) = self.shared.live_at(address_of(*address)) {
                self.record(&mut state, index, record.stream());
                is_any = true;
            }
        }
        is_any
    }

    /// Waits for what was recorded on blocks that commands still hold; whether some wait made a block idle.
    pub fn wait_for_events(&self, addresses: &[*const u8]) -> bool {
        let mut is_any_idle = false;
        for address in addresses {
            let state = self.lock();
            let Some((index, record)) = self.shared.live_at(address_of(*address)) else { continue };
            let events = state.block(index).events.clone();
            if !record.is_retained() || events.is_empty() {
                continue;
            }
            drop(state);
            for (stream, position) in events {
                self.clock.wait(stream, position);
            }
            is_any_idle |= !record.is_retained();
        }
        if is_any_idle {
            self.free_inactive_buffers();
        }
        is_any_idle
    }

    /// Frees the blocks that waited for streams which have got there.
    pub fn free_inactive_buffers(&self) {
        self.lock().reclaim_pending(&*self.clock);
    }

    /// `torch.mps.empty_cache()`: synchronizes the default stream and releases every heap without a block in use.
    ///
    /// # Errors
    /// The deferred error of the default stream; nothing is released then.
    pub fn empty_cache(&self) -> Result<(), StreamError> {
        self.release_cached(self.lock()).map(drop)
    }

    /// `torch.mps.current_allocated_memory()`: bytes of the blocks in use, at their rounded size.
    pub fn current_allocated_bytes(&self) -> u64 {
        self.lock().stats.allocated.current
    }

    /// Bytes of all heaps.
    pub fn total_allocated_bytes(&self) -> u64 {
        self.lock().total_bytes()
    }

    /// `torch.mps.driver_allocated_memory()`: bytes that the driver allocated for the process; at least the heaps.
    pub fn driver_allocated_bytes(&self) -> u64 {
        self.lock().driver_bytes()
    }

    /// `torch.accelerator.get_memory_info()`: free and total bytes of the recommended maximum.
    pub fn memory_info(&self) -> (u64, u64) {
        (self.recommended_max_bytes.saturating_sub(self.driver_allocated_bytes()), self.recommended_max_bytes)
    }

    /// The counters that a trace shows. Without a lock, so they may be of different moments.
    pub fn gauges(&self) -> Gauges {
        self.shared.gauges.read()
    }

    /// All counters.
    pub fn stats(&self) -> Stats {
        self.lock().stats
    }

    /// Peaks start again from now.
    pub fn reset_peak_stats(&self) {
        let mut state = self.lock();
        state.stats.reset_peak();
        state.publish();
    }

    /// Sums start again from zero.
    pub fn reset_accumulated_stats(&self) {
        self.lock().stats.reset_accumulated();
    }

    /// Sets the hard limit to a share of the recommended maximum, 0 for none; what is allocated stays, and so does the soft
    /// limit.
    ///
    /// # Errors
    /// [`MemoryError::HighWatermarkRatio`] outside 0 to 2.
    pub fn set_high_watermark_ratio(&self, ratio: f64) -> Result<(), MemoryError> {
        let mut state = self.lock();
        state.marks.set_high_ratio(ratio)?;
        state.publish();
        log_high_watermark(&state.log, &state.marks);
        Ok(())
    }

    /// Sets the soft limit to a share of the recommended maximum, 0 for none.
    ///
    /// # Errors
    /// [`MemoryError::LowWatermarkRatio`] outside 0 to the high ratio.
    pub fn set_low_watermark_ratio(&self, ratio: f64) -> Result<(), MemoryError> {
        let mut state = self.lock();
        state.marks.set_low_ratio(ratio)?;
        state.publish();
        log_low_watermark(&state.log, &state.marks);
        Ok(())
    }

    /// MiB left below the soft limit; at most 1 means that streams should commit early.
    pub fn low_watermark_value(&self) -> i64 {
        let state = self.lock();
        state.marks.low_value(state.driver_bytes())
    }

    /// Adds something to call before an allocation fails for want of memory.
    pub fn on_allocation_failed(&self, callback: AllocationFailed) {
        self.lock().on_allocation_failed.push(Arc::new(callback));
    }

    /// Whether `address` lies in the range that all blocks come from. Without a lock.
    #[inline]
    pub fn contains(&self, address: *const u8) -> bool {
        self.shared.arena.contains(address_of(address))
    }
}

fn place_in_new_heap(state: &mut State, request: &Request) -> Option<BlockIndex> {
    let block = state.new_heap(request)?;
    state.place(block, request);
    Some(block)
}

fn reuse_or_new_heap(state: &mut State, request: &Request) -> Option<BlockIndex> {
    state.reuse(request).or_else(|| place_in_new_heap(state, request))
}

fn out_of_memory(state: &State, need_bytes: u64) -> MemoryError {
    MemoryError::OutOfMemory {
        allocated_bytes: state.total_bytes(),
        other_bytes: state.driver_bytes() - state.total_bytes(),
        max_allowed_bytes: state.marks.high_bytes,
        need_bytes,
    }
}

fn info(address: u64, record: &SharedBlock) -> BlockInfo {
    BlockInfo {
        base: pointer_to(address),
        size_bytes: record.size_bytes.load(Ordering::Relaxed),
        requested_bytes: record.requested_bytes.load(Ordering::Relaxed),
        id: record.buffer_id.load(Ordering::Relaxed),
        usage: record.usage(),
        stream: record.stream(),
        retain_count: retain_count(record),
        use_count: record.use_count.load(Ordering::Relaxed),
    }
}

fn limit_text(limit_bytes: Option<u64>) -> String {
    limit_bytes.map_or_else(|| "unlimited".to_owned(), fmt)
}

fn log_high_watermark(log: &Log, marks: &Watermarks) {
    log.heap(Verbosity::PROFILING, || {
        format!("High watermark memory allocation limit: {}", limit_text(marks.high_bytes))
    });
}

fn log_low_watermark(log: &Log, marks: &Watermarks) {
    log.heap(Verbosity::PROFILING, || {
        format!("Low watermark memory allocation limit: {}", limit_text(marks.low_bytes))
    });
}
