//! What the pool's protocol stands on: atomics, a cell, a futex, and how long to look for work. The protocol itself
//! (`launch.rs`, `worker.rs`) names nothing else of threads, so that `openmps-models` can run it on a model of memory.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a worker spins after its last work. Long enough for the next kernel of a stream, short enough that an idle process
/// does not burn a core: waking a worker takes 50–100 µs on a virtual machine, so spinning less loses more than it saves.
const SPIN: Duration = Duration::from_micros(200);
/// How much of that a worker keeps its core to itself. Afterwards it looks for work as often, but another thread that can run
/// (one of OpenMP's, in an ATen op behind the kernel) gets the core at once.
const SPIN_ALONE: Duration = Duration::from_micros(20);
/// Most parts of a launch: more threads share them.
pub(super) const PARTS_MAX: usize = 64;
/// Turns between two looks at the clock.
const TURNS: u32 = 64;

/// A place that threads use one after the other.
pub(super) struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Hands on the place, to read.
    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Hands on the place, to write.
    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// A word on which threads sleep.
pub(super) struct Futex(AtomicU32);

impl Futex {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The word.
    pub(super) fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// Sleeps while the word is `seen`, or less.
    pub(super) fn wait(&self, seen: u32) {
        let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: a futex call on an atomic of ours, which outlives it; the kernel compares with `seen` before the thread sleeps.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), wait, seen, forever) };
    }

    /// Wakes all.
    pub(super) fn wake(&self) {
        let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: as in `wait`.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), wake, i32::MAX) };
    }
}

/// The core that the calling thread, a launch's participant `number`, is on.
pub(super) fn home(number: usize) -> usize {
    // SAFETY: the call has no arguments; it fails with a negative number where the kernel does not tell.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(number)
}

/// Looks for `work` for a moment; whether there was some.
pub(super) fn spin_for(work: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    let mut turns = 0_u32;
    while !work() {
        spin_loop();
        turns += 1;
        if turns.is_multiple_of(TURNS) {
            let spent = start.elapsed();
            if spent > SPIN {
                return false;
            }
            if spent > SPIN_ALONE {
                std::thread::yield_now();
            }
        }
    }
    true
}

/// Waits for `done`, giving the CPU away when that takes long: the thread waited for may need it.
pub(super) fn spin_until(done: impl Fn() -> bool) {
    let mut turns = 0_u32;
    while !done() {
        turns = turns.wrapping_add(1);
        if turns < 4096 {
            spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}
