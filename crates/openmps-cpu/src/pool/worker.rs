//! How workers wait for launches: spinning for a moment, then asleep on a futex.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::launch::Launch;

/// How long a worker spins after its last work. Long enough for the next kernel of a stream, short enough that an idle process
/// does not burn a core: waking a worker takes 50–100 µs on a virtual machine, so spinning less loses more than it saves.
const SPIN: Duration = Duration::from_micros(200);
/// How much of that a worker keeps its core to itself. Afterwards it looks for work as often, but another thread that can run
/// (one of OpenMP's, in an ATen op behind the kernel) gets the core at once.
const SPIN_ALONE: Duration = Duration::from_micros(20);
/// Turns between two looks at the clock.
const TURNS: u32 = 64;

/// Counts announcements; workers sleep on it.
pub(super) struct WakeUp {
    announcements: AtomicU32,
    sleepers: AtomicU32,
}

impl WakeUp {
    pub(super) fn new() -> Self {
        Self { announcements: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
    }

    /// Wakes whoever sleeps; costs no system call when nobody does.
    pub(super) fn announce(&self) {
        self.announcements.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: a futex call on an atomic of ours, which outlives it.
            unsafe { libc::syscall(libc::SYS_futex, self.announcements.as_ptr(), wake, i32::MAX) };
        }
    }

    /// Sleeps until there is an announcement after `seen`.
    fn sleep(&self, seen: u32) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: as in `announce`; the kernel compares with `seen` before it lets the thread sleep.
        unsafe { libc::syscall(libc::SYS_futex, self.announcements.as_ptr(), wait, seen, forever) };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The life of worker `number`, from 1.
pub(super) fn serve(launch: &Launch, number: usize) {
    loop {
        let seen = launch.wake_up.announcements.load(Ordering::SeqCst);
        if launch.has_work(number) {
            launch.take_part(number);
        } else if !spins_into_work(launch, number) {
            // An announcement since `seen` was read ends the sleep at once.
            launch.wake_up.sleep(seen);
        }
    }
}

/// Looks for work during [`SPIN`]; whether there was some.
fn spins_into_work(launch: &Launch, number: usize) -> bool {
    let start = Instant::now();
    let mut turns = 0_u32;
    while !launch.has_work(number) {
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
