//! The allocator's rules, one by one, on a clock that the test turns.

mod counters;
mod process;
mod properties;
mod reuse;
mod streams;
mod texts;
mod threads;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::*;
use crate::limits::MIB;

/// Streams on which work is encoded and done by hand.
#[derive(Default)]
struct Hands {
    current: AtomicU32,
    encoded: [AtomicU64; 8],
    done: [AtomicU64; 8],
    synchronized: AtomicU32,
    error: Mutex<Option<StreamError>>,
}

impl Hands {
    /// Encodes one command on a stream.
    fn encode(&self, stream: u32) {
        self.encoded[stream as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// Finishes what is encoded on a stream.
    fn finish(&self, stream: u32) {
        let stream = stream as usize;
        self.done[stream].store(self.encoded[stream].load(Ordering::SeqCst), Ordering::SeqCst);
    }

    fn switch_to(&self, stream: u32) {
        self.current.store(stream, Ordering::SeqCst);
    }
}

struct HandClock(Arc<Hands>);

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
        self.0.error.lock().expect("no test panics here").take().map_or(Ok(()), Err)
    }
}

/// An allocator of its own with its clock and its log.
struct Rig {
    allocator: Allocator,
    hands: Arc<Hands>,
    lines: Arc<Mutex<Vec<String>>>,
}

/// Recommended maximum of the tests, in bytes: the limits of the default ratios are 1.7 and 1.4 GiB.
const RECOMMENDED: u64 = 1 << 30;

fn options(lines: &Arc<Mutex<Vec<String>>>) -> AllocatorOptions {
    let lines = Arc::clone(lines);
    AllocatorOptions {
        recommended_max_bytes: RECOMMENDED,
        max_buffer_length_bytes: 8 << 30,
        max_heap_bytes: 16 << 30,
        high_watermark_ratio: 1.7,
        low_watermark_ratio: 1.4,
        arena_bytes: (32 << 30, 32 << 30),
        verbosity: 0,
        log: Box::new(move |line| lines.lock().expect("no test panics here").push(line.to_owned())),
        trash: false,
    }
}

impl Rig {
    fn new() -> Rig {
        Rig::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut AllocatorOptions)) -> Rig {
        let (hands, lines) = (Arc::new(Hands::default()), Arc::default());
        let mut options = options(&lines);
        change(&mut options);
        let allocator = Allocator::new(options, Box::new(HandClock(Arc::clone(&hands)))).expect("valid options");
        Rig { allocator, hands, lines }
    }

    fn try_take(&self, bytes: u64, usage: Usage) -> Result<NonNull<u8>, MemoryError> {
        self.allocator.allocate(bytes, usage)
    }

    fn take(&self, bytes: u64) -> NonNull<u8> {
        self.try_take(bytes, Usage::Device).expect("memory for the test")
    }

    fn give(&self, address: NonNull<u8>) {
        // SAFETY: the tests give back what they took, once, and no work uses it.
        unsafe { self.allocator.free(address) };
    }

    fn block(&self, address: NonNull<u8>) -> BlockInfo {
        self.allocator.block(address.as_ptr()).expect("the block is handed out")
    }

    fn id(&self, address: NonNull<u8>) -> u64 {
        self.block(address).id
    }

    fn retain(&self, address: NonNull<u8>) {
        assert!(self.allocator.retain(address.as_ptr()));
    }

    fn release(&self, address: NonNull<u8>) {
        self.allocator.release(address.as_ptr());
    }

    fn empty_cache(&self) {
        self.allocator.empty_cache().expect("no deferred error");
    }

    fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().expect("no test panics here"))
    }
}

fn offset(from: NonNull<u8>, to: NonNull<u8>) -> u64 {
    region::address_of(to.as_ptr()) - region::address_of(from.as_ptr())
}
