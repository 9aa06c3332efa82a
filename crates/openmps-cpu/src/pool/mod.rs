//! The engine's worker threads.
//!
//! [`run`] spreads chunks of a launch over the caller and the workers. Guarantees: the caller takes part, so a launch ends even
//! when no worker wakes up; no worker touches a launch after `run` has returned; a panic in a chunk ends the launch with an
//! error and leaves the pool usable; a forked child starts its own workers. A second launch at the same time runs on its
//! caller alone. Workers spin for a moment after work and sleep then: waking one costs more than a small launch.
//!
//! Measured on a 2-core virtual machine: an empty launch costs 0.2–0.6 µs while workers spin, 2–4 µs when one must be woken.

mod launch;
mod worker;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, TryLockError};

use launch::Launch;

/// Most workers, however many cores there are: more do not help kernels of a threadgroup each.
const WORKERS_MAX: usize = 256;

/// The workers and the launch that they serve. Lives for ever.
struct Pool {
    launch: Launch,
    /// Held by the caller whose launch is running.
    busy: Mutex<()>,
    threads: usize,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());
static START: Mutex<()> = Mutex::new(());
static AT_FORK: Once = Once::new();

/// What [`limit_threads`] said.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Lets launches use at most `count` threads (at least the caller), if the pool has not started yet.
pub fn limit_threads(count: usize) {
    LIMIT.store(count.max(1), Ordering::Relaxed);
}

/// Threads that a launch may use, the caller included: `OMP_NUM_THREADS` where set, else the CPUs this process may use.
#[must_use]
pub fn thread_count() -> usize {
    pool().threads
}

fn configured_threads() -> usize {
    let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let asked = std::env::var("OMP_NUM_THREADS").ok();
    // OpenMP allows a list, one number for each nesting level; the first counts.
    let asked = asked.as_deref().and_then(|text| text.split(',').next()?.trim().parse::<usize>().ok());
    let limit = LIMIT.load(Ordering::Relaxed).min(WORKERS_MAX + 1);
    asked.filter(|&count| count > 0).unwrap_or(available).min(limit)
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
    let _guard = START.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let existing = POOL.load(Ordering::Acquire);
    if !existing.is_null() {
        // SAFETY: as in `pool`.
        return unsafe { &*existing };
    }
    AT_FORK.call_once(|| {
        // SAFETY: the handler only stores to an atomic, which is allowed after a fork.
        unsafe { libc::pthread_atfork(None, None, Some(forget_workers)) };
    });
    let threads = configured_threads();
    let pool: &'static Pool = Box::leak(Box::new(Pool { launch: Launch::new(), busy: Mutex::new(()), threads }));
    for number in 1..threads {
        let name = format!("openmps-cpu-{number}");
        // Without workers the caller does all of the work, so that a failure here costs speed only.
        let _ = std::thread::Builder::new().name(name).spawn(|| worker::serve(&pool.launch));
    }
    POOL.store(std::ptr::from_ref(pool).cast_mut(), Ordering::Release);
    pool
}

/// In a forked child: the workers exist in the parent only, and a launch may have been running there.
extern "C" fn forget_workers() {
    POOL.store(std::ptr::null_mut(), Ordering::Release);
}

/// Calls `work` once for each number below `chunks`, on the caller and on workers, and returns when all calls have.
///
/// # Errors
/// The first error that a call returned, or the message of a panic; the calls that have not started then do not.
pub(crate) fn run(chunks: u32, work: &(dyn Fn(u32) -> Result<(), String> + Sync)) -> Result<(), String> {
    let pool = pool();
    if chunks > 1 && pool.threads > 1 {
        match pool.busy.try_lock() {
            Ok(_guard) => return pool.launch.run(chunks, work),
            Err(TryLockError::Poisoned(poisoned)) => {
                let _guard = poisoned.into_inner();
                return pool.launch.run(chunks, work);
            }
            Err(TryLockError::WouldBlock) => {}
        }
    }
    run_inline(chunks, work)
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
