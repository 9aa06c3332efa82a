//! One launch at a time, shared between its caller and the workers.
//!
//! A launch has as many parts as threads, each a row of chunks. A thread takes the chunks of the part that belongs to its core, and then
//! the last ones of others: what launches one after the other work on stays in the caches of the cores that have it. The chunks
//! that are left of a part are one word with the launch's number, changed by compare-and-swap, so that a worker that comes late, with an
//! old launch in mind, cannot take work of the next one. The work itself is a pointer to the caller's closure: it is read after a
//! chunk was taken, and the caller does not return before every taken chunk has been finished.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use super::Wake;
use super::sync::{AtomicU32, AtomicU64, AtomicUsize, Cell, Ordering, PARTS_MAX, home, spin_until};
use super::worker::WakeUp;

/// The number of a launch's caller.
const CALLER: usize = 0;

/// Most chunks of a launch: a part has 16 bits for each end.
const CHUNKS_MAX: u32 = 0xffff;

type Work<'a> = dyn Fn(u32) -> Result<(), String> + Sync + 'a;

/// Chunks `next..end` are left: `epoch << 32 | end << 16 | next`. On a line of the cache of its own.
#[repr(align(64))]
struct Part(AtomicU64);

impl Part {
    fn fill(&self, epoch: u32, next: u32, end: u32) {
        self.0.store(u64::from(epoch) << 32 | u64::from(end) << 16 | u64::from(next), Ordering::Release);
    }

    fn epoch(&self) -> u32 {
        u32::try_from(self.0.load(Ordering::Relaxed) >> 32).expect("the upper half")
    }

    /// The chunks of a word.
    fn left(word: u64) -> (u64, u64) {
        (word & 0xffff, word >> 16 & 0xffff)
    }

    fn is_empty(&self) -> bool {
        let (next, end) = Self::left(self.0.load(Ordering::Acquire));
        next >= end
    }

    /// Takes the first or the last chunk while `may` allows; what that says holds for the launch of the chunk.
    fn take(&self, first: bool, may: impl Fn() -> bool) -> Option<u32> {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            let (next, end) = Self::left(word);
            // Asked after the word was read: what belongs to another launch makes the exchange below fail.
            if next >= end || !may() {
                return None;
            }
            let (chunk, less) = if first { (next, word + 1) } else { (end - 1, word - (1 << 16)) };
            match self.0.compare_exchange_weak(word, less, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(u32::try_from(chunk).expect("16 bits")),
                Err(current) => word = current,
            }
        }
    }
}

/// The state that caller and workers share.
pub(super) struct Launch {
    parts: [Part; PARTS_MAX],
    /// Parts that the running launch has, or had. Parts beyond it are empty.
    part_count: AtomicUsize,
    /// Chunks of the running launch; 0 between launches.
    chunks: AtomicU32,
    finished: AtomicU32,
    /// Workers that may take chunks: those whose number, from 1, is not greater.
    workers: AtomicUsize,
    /// How many more threads may take part. Whoever joins takes one, and has nothing left to do when it leaves.
    seats: AtomicUsize,
    work: Cell<Option<*const Work<'static>>>,
    error: Mutex<Option<String>>,
    pub(super) wake_up: WakeUp,
}

// SAFETY: `work` is written by the caller while no chunk can be taken (`chunks` is 0) and read only by who has taken a chunk
// of the epoch for which it was written; the other fields are atomics and locks.
unsafe impl Sync for Launch {}
// SAFETY: as above; the pointer is used only while the caller that owns the closure waits.
unsafe impl Send for Launch {}

impl Launch {
    pub(super) fn new() -> Self {
        Self {
            parts: std::array::from_fn(|_| Part(AtomicU64::new(0))),
            part_count: AtomicUsize::new(1),
            chunks: AtomicU32::new(0),
            finished: AtomicU32::new(0),
            workers: AtomicUsize::new(0),
            seats: AtomicUsize::new(0),
            work: Cell::new(None),
            error: Mutex::new(None),
            wake_up: WakeUp::new(),
        }
    }

    /// Runs a launch on the caller and at most `workers` other threads; the caller holds the pool's `busy` lock.
    pub(super) fn run(&self, chunks: u32, workers: usize, wake: Wake, work: &Work<'_>) -> Result<(), String> {
        // SAFETY: only the lifetime changes; nobody uses the pointer after this function, which waits for all chunks.
        let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        // SAFETY: no launch runs, so that nobody has taken a chunk and reads `work`.
        self.work.with_mut(|place| unsafe { *place = Some(work) });
        self.finished.store(0, Ordering::Relaxed);
        self.workers.store(workers, Ordering::Relaxed);
        self.seats.store(workers, Ordering::Relaxed);
        assert!(chunks <= CHUNKS_MAX, "{chunks} chunks");
        let count = u32::try_from((workers + 1).min(PARTS_MAX)).expect("few");
        self.part_count.store(count as usize, Ordering::Relaxed);
        let epoch = self.parts[0].epoch().wrapping_add(1);
        for (number, part) in (0..count).zip(&self.parts) {
            part.fill(epoch, chunks * number / count, chunks * (number + 1) / count);
        }
        self.chunks.store(chunks, Ordering::Release);
        if wake == Wake::Everyone {
            self.wake_up.announce();
        }
        self.take_part(CALLER);
        spin_until(|| self.finished.load(Ordering::Acquire) == chunks);
        self.chunks.store(0, Ordering::Release);
        let error = self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }

    /// Whether there may be a chunk for worker `number` to take, and a seat.
    pub(super) fn has_work(&self, number: usize) -> bool {
        self.chunks.load(Ordering::Acquire) > 0
            && number <= self.workers.load(Ordering::Relaxed)
            && self.seats.load(Ordering::Relaxed) > 0
            && self.parts().iter().any(|part| !part.is_empty())
    }

    /// Takes a seat, and part as worker `number`; whether there was a seat. One that is taken after the launch has ended, in the moment
    /// in which the next begins, is one of that.
    pub(super) fn join(&self, number: usize) -> bool {
        let one_less = |seats: usize| seats.checked_sub(1);
        let is_seated = self.seats.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok();
        if is_seated {
            self.take_part(number);
        }
        is_seated
    }

    /// Takes and runs chunks until none is left for worker `number`.
    pub(super) fn take_part(&self, number: usize) {
        let home = home(number);
        while let Some(chunk) = self.take(number, home) {
            // SAFETY: this thread has taken a chunk, so that the launch that wrote `work` is still running.
            let work = self.work.with(|place| unsafe { *place });
            let work = work.expect("a launch stores its work before its chunks can be taken");
            // After an error the remaining chunks are counted, not run.
            if !self.has_failed() {
                // SAFETY: the closure lives until every taken chunk is finished, which this one is not.
                if let Err(message) = guarded(unsafe { &*work }, chunk) {
                    self.fail(message);
                }
            }
            self.finished.fetch_add(1, Ordering::Release);
        }
    }

    /// A count of an earlier launch shows parts that are empty, or not all.
    fn parts(&self) -> &[Part] {
        &self.parts[..self.part_count.load(Ordering::Relaxed)]
    }

    fn take(&self, number: usize, home: usize) -> Option<u32> {
        let parts = self.parts();
        let (before, own) = parts.split_at(home % parts.len());
        let may = || number <= self.workers.load(Ordering::Relaxed);
        own.iter().chain(before).enumerate().find_map(|(at, part)| part.take(at == 0, may))
    }

    fn has_failed(&self) -> bool {
        self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_some()
    }

    fn fail(&self, message: String) {
        self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(message);
    }
}

/// Calls `work`, turning a panic into its message.
pub(super) fn guarded(work: &Work<'_>, chunk: u32) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| work(chunk))).unwrap_or_else(|panic| Err(panic_message(&*panic)))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a worker panicked".to_owned())
}
