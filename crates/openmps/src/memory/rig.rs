//! An allocator of its own on a clock that is turned by hand: what its tests and its model drive. Not in the product.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{Allocator, AllocatorOptions, BlockInfo, MemoryError, StreamClock, Usage};
use crate::stream_id::{StreamError, StreamId};

/// Streams on which work is encoded and done by hand.
#[derive(Default)]
pub(super) struct Hands {
    current: AtomicU32,
    encoded: [AtomicU64; 8],
    pub(super) done: [AtomicU64; 8],
    pub(super) synchronized: AtomicU32,
    pub(super) error: Mutex<Option<StreamError>>,
}

impl Hands {
    /// Encodes one command on a stream.
    pub(super) fn encode(&self, stream: u32) {
        self.encoded[stream as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// Finishes what is encoded on a stream.
    pub(super) fn finish(&self, stream: u32) {
        let stream = stream as usize;
        self.done[stream].store(self.encoded[stream].load(Ordering::SeqCst), Ordering::SeqCst);
    }

    pub(super) fn switch_to(&self, stream: u32) {
        self.current.store(stream, Ordering::SeqCst);
    }
}

/// The clock that these hands turn.
pub(super) struct HandClock(pub(super) Arc<Hands>);

impl StreamClock for HandClock {
    fn current(&self) -> StreamId {
        StreamId(self.0.current.load(Ordering::SeqCst))
    }

    fn position(&self, stream: StreamId) -> u64 {
        self.0.encoded[stream.0 as usize].load(Ordering::SeqCst)
    }

    fn reached(&self, stream: StreamId, position: u64) -> bool {
        self.0.done[stream.0 as usize].load(Ordering::SeqCst) >= position
    }

    fn wait(&self, stream: StreamId, position: u64) {
        self.0.done[stream.0 as usize].fetch_max(position, Ordering::SeqCst);
    }

    fn synchronize_default(&self) -> Result<(), StreamError> {
        self.0.synchronized.fetch_add(1, Ordering::SeqCst);
        self.0.finish(0);
        self.0.error.lock().expect("nobody panics with this lock").take().map_or(Ok(()), Err)
    }
}

/// An allocator of its own with its clock and its log.
pub(super) struct Rig {
    pub(super) allocator: Allocator,
    pub(super) hands: Arc<Hands>,
    #[cfg_attr(not(test), expect(dead_code, reason = "the model writes no log; tests read theirs"))]
    pub(super) lines: Arc<Mutex<Vec<String>>>,
}

/// Recommended maximum of a rig, in bytes: the limits of the default ratios are 1.7 and 1.4 GiB.
pub(super) const RECOMMENDED: u64 = 1 << 30;

/// The options of a rig that nothing changes; log lines go to `lines`.
pub(super) fn options(lines: &Arc<Mutex<Vec<String>>>) -> AllocatorOptions {
    let lines = Arc::clone(lines);
    AllocatorOptions {
        recommended_max_bytes: RECOMMENDED,
        max_buffer_length_bytes: 8 << 30,
        max_heap_bytes: 16 << 30,
        high_watermark_ratio: 1.7,
        low_watermark_ratio: 1.4,
        arena_bytes: (32 << 30, 32 << 30),
        verbosity: 0,
        log: Box::new(move |line| lines.lock().expect("nobody panics with this lock").push(line.to_owned())),
        trash: false,
        observer: None,
    }
}

impl Rig {
    pub(super) fn with(change: impl FnOnce(&mut AllocatorOptions)) -> Rig {
        let (hands, lines) = (Arc::new(Hands::default()), Arc::default());
        let mut options = options(&lines);
        change(&mut options);
        let allocator = Allocator::new(options, Box::new(HandClock(Arc::clone(&hands)))).expect("valid options");
        Rig { allocator, hands, lines }
    }

    pub(super) fn try_take(&self, bytes: u64, usage: Usage) -> Result<NonNull<u8>, MemoryError> {
        self.allocator.allocate(bytes, usage)
    }

    pub(super) fn give(&self, address: NonNull<u8>) {
        // SAFETY: a rig's users give back what they took, once, and no work uses it.
        unsafe { self.allocator.free(address) };
    }

    pub(super) fn block(&self, address: NonNull<u8>) -> BlockInfo {
        self.allocator.block(address.as_ptr()).expect("the block is handed out")
    }

    pub(super) fn retain(&self, address: NonNull<u8>) {
        assert!(self.allocator.retain(address.as_ptr()));
    }

    pub(super) fn release(&self, address: NonNull<u8>) {
        self.allocator.release(address.as_ptr());
    }

    pub(super) fn empty_cache(&self) {
        self.allocator.empty_cache().expect("no deferred error");
    }
}
