//! The engine's worker threads.
//!
//! [`run`] spreads chunks of a launch over the caller and the workers. Guarantees: the caller takes part, so a launch ends even
//! when no worker wakes up; no worker touches a launch after `run` has returned; a panic in a chunk ends the launch with an
//! error and leaves the pool usable; a forked child starts its own workers; threads above the limit take no part in
//! launches that start under it, nor do more threads than that, whoever they are. A second launch at the same time runs on its caller alone. Workers spin for a moment after work, then give their
//! core to whoever wants it (ATen's OpenMP threads among others), and sleep at last: waking one costs more than a small launch,
//! so only launches that outlast it do.
//!
//! Measured on a 2-core virtual machine: an empty launch costs 0.2–0.6 µs while workers spin, 2–4 µs when one must be woken.

mod launch;
mod sync;
mod worker;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError, TryLockError};

use launch::Launch;

/// Most workers, however many cores there are: more do not help kernels of a threadgroup each.
const WORKERS_MAX: usize = 256;

/// The workers and the launch that they serve. Lives for ever.
struct Pool {
    launch: Launch,
    /// Held by the caller whose launch is running: the number of workers that have been started.
    busy: Mutex<usize>,
    /// Nanoseconds of launches since workers were called for the last time.
    unheard: AtomicU64,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());
static START: Mutex<()> = Mutex::new(());
static AT_FORK: Once = Once::new();

/// What [`limit_threads`] said last; 0 for nothing.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Lets launches from now on use `count` threads, the caller included, but not more than `OMP_NUM_THREADS` and the CPUs that this
/// process may use allow, whichever is more; 0 ends that.
pub fn limit_threads(count: usize) {
    LIMIT.store(count, Ordering::Relaxed);
}

/// Threads that a launch may use, the caller included: what [`limit_threads`] said, else `OMP_NUM_THREADS`, else the CPUs that
/// this process may use (its affinity and its control group's share).
#[must_use]
pub fn thread_count() -> usize {
    static CONFIGURED: OnceLock<Configured> = OnceLock::new();
    let configured = CONFIGURED.get_or_init(|| {
        let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Configured::new(std::env::var("OMP_NUM_THREADS").ok().as_deref(), available)
    });
    configured.threads(LIMIT.load(Ordering::Relaxed))
}

/// What the process's surroundings say about threads.
struct Configured {
    usual: usize,
    most: usize,
}

impl Configured {
    /// From `OMP_NUM_THREADS` and the number of CPUs.
    fn new(asked: Option<&str>, available: usize) -> Self {
        // OpenMP allows a list, one number for each nesting level; the first counts.
        let asked = asked.and_then(|text| text.split(',').next()?.trim().parse::<usize>().ok());
        let usual = asked.filter(|&count| count > 0).unwrap_or(available).min(WORKERS_MAX + 1);
        Self { usual, most: usual.max(available).min(WORKERS_MAX + 1) }
    }

    fn threads(&self, limit: usize) -> usize {
        if limit == 0 { self.usual } else { limit.min(self.most) }
    }
}

fn pool() -> &'static Pool {
    let existing = POOL.load(Ordering::Acquire);
    if !existing.is_null() {
        // SAFETY: only `start` stores a pointer, to a leaked pool that is never freed.
        return unsafe { &*existing };
    }
    start()
}

#[cold]
fn start() -> &'static Pool {
    let _guard = START.lock().unwrap_or_else(PoisonError::into_inner);
    let existing = POOL.load(Ordering::Acquire);
    if !existing.is_null() {
        // SAFETY: as in `pool`.
        return unsafe { &*existing };
    }
    AT_FORK.call_once(|| {
        // SAFETY: the handler only stores to an atomic, which is allowed after a fork.
        unsafe { libc::pthread_atfork(None, None, Some(forget_workers)) };
    });
    let pool: &'static Pool =
        Box::leak(Box::new(Pool { launch: Launch::new(), busy: Mutex::new(0), unheard: AtomicU64::new(0) }));
    POOL.store(std::ptr::from_ref(pool).cast_mut(), Ordering::Release);
    pool
}

impl Pool {
    /// Many small launches one after another call workers like a large one.
    fn wake(&self, nanoseconds: u64) -> Wake {
        let unheard = self.unheard.load(Ordering::Relaxed).saturating_add(nanoseconds);
        let is_enough = unheard >= WAKING_NANOSECONDS;
        self.unheard.store(if is_enough { 0 } else { unheard }, Ordering::Relaxed);
        if is_enough { Wake::Everyone } else { Wake::Nobody }
    }

    /// Starts workers until there are `wanted`. `started` is what `busy` holds.
    fn grow(&'static self, started: &mut usize, wanted: usize) {
        while *started < wanted {
            *started += 1;
            let number = *started;
            let name = format!("openmps-cpu-{number}");
            // Without workers the caller does all of the work, so that a failure here costs speed only.
            let _ = std::thread::Builder::new().name(name).spawn(move || worker::serve(&self.launch, number));
        }
    }
}

/// In a forked child: the workers exist in the parent only, and a launch may have been running there.
extern "C" fn forget_workers() {
    POOL.store(std::ptr::null_mut(), Ordering::Release);
}

/// Whether sleeping workers are called for a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    /// The work outlasts their waking.
    Everyone,
    /// Only workers that still spin take part.
    Nobody,
}

/// Nanoseconds of work from which sleeping workers are called: on a virtual machine it takes them about as long to come.
const WAKING_NANOSECONDS: u64 = 50_000;

/// The number of whoever assists: wherever a launch has workers at all.
const ASSISTANT: usize = 1;

/// Calls `work` once for each number below `chunks`, on the caller and on workers, and returns when all calls have. Together they
/// take one core about `nanoseconds`.
///
/// # Errors
/// The first error that a call returned, or the message of a panic; the calls that have not started then do not.
pub(crate) fn run(
    chunks: u32,
    nanoseconds: u64,
    work: &(dyn Fn(u32) -> Result<(), String> + Sync),
) -> Result<(), String> {
    let workers = thread_count() - 1;
    if chunks > 1 && workers > 0 {
        let pool = pool();
        let started = match pool.busy.try_lock() {
            Ok(started) => Some(started),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(mut started) = started {
            pool.grow(&mut started, workers);
            return pool.launch.run(chunks, workers, pool.wake(nanoseconds), work);
        }
    }
    run_inline(chunks, work)
}

/// Takes part in the launch that is running, if it has work left and fewer threads than it may have: for threads that wait for it
/// anyway, while a worker that was called is on its way or stands in line behind the caller. Whether it did.
pub(crate) fn assist() -> bool {
    let existing = POOL.load(Ordering::Acquire);
    if existing.is_null() {
        return false;
    }
    // SAFETY: as in `pool`.
    let launch = unsafe { &(*existing).launch };
    launch.has_work(ASSISTANT) && launch.join(ASSISTANT)
}

/// As [`run`], on the caller alone.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_inline(chunks: u32, work: &(dyn Fn(u32) -> Result<(), String> + Sync)) -> Result<(), String> {
    (0..chunks).try_for_each(|chunk| launch::guarded(work, chunk))
}

#[cfg(test)]
mod tests;
