//! One launch at a time, shared between its caller and the workers.
//!
//! `ticket` is `epoch << 32 | next chunk`; a chunk is taken by compare-and-swap, so that a worker that comes late, with an old
//! epoch in mind, cannot take work of the next launch. The work itself is a pointer to the caller's closure: it is read after a
//! chunk was taken, and the caller does not return before every taken chunk has been finished.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use super::Wake;
use super::sync::{AtomicU32, AtomicU64, AtomicUsize, Cell, Ordering, spin_until};
use super::worker::WakeUp;

/// The number of a launch's caller.
const CALLER: usize = 0;

type Work<'a> = dyn Fn(u32) -> Result<(), String> + Sync + 'a;

/// The state that caller and workers share.
pub(super) struct Launch {
    ticket: AtomicU64,
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
            ticket: AtomicU64::new(0),
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
        let epoch = (self.ticket.load(Ordering::Relaxed) >> 32).wrapping_add(1) & 0xffff_ffff;
        self.ticket.store(epoch << 32, Ordering::Release);
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
        let next = self.ticket.load(Ordering::Acquire) & 0xffff_ffff;
        next < u64::from(self.chunks.load(Ordering::Acquire))
            && number <= self.workers.load(Ordering::Relaxed)
            && self.seats.load(Ordering::Relaxed) > 0
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
        while let Some(chunk) = self.take(number) {
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

    fn take(&self, number: usize) -> Option<u32> {
        let mut ticket = self.ticket.load(Ordering::Acquire);
        loop {
            let next = u32::try_from(ticket & 0xffff_ffff).expect("masked to 32 bits");
            // Read after the ticket: counts that belong to another epoch make the exchange below fail.
            if next >= self.chunks.load(Ordering::Acquire) || number > self.workers.load(Ordering::Relaxed) {
                return None;
            }
            match self.ticket.compare_exchange_weak(ticket, ticket + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(next),
                Err(current) => ticket = current,
            }
        }
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
