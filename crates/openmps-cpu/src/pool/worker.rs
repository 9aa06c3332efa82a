//! How workers wait for launches: spinning for a moment, then asleep on a futex.

use super::launch::Launch;
use super::sync::{AtomicU32, Futex, Ordering, spin_for};

/// Counts announcements; workers sleep on it.
pub(super) struct WakeUp {
    announcements: Futex,
    sleepers: AtomicU32,
}

impl WakeUp {
    pub(super) fn new() -> Self {
        Self { announcements: Futex::new(), sleepers: AtomicU32::new(0) }
    }

    /// Wakes whoever sleeps; costs no system call when nobody does.
    pub(super) fn announce(&self) {
        self.announcements.word().fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            self.announcements.wake();
        }
    }

    /// How many announcements there were.
    pub(super) fn seen(&self) -> u32 {
        self.announcements.word().load(Ordering::SeqCst)
    }

    /// Sleeps until there is an announcement after `seen`.
    pub(super) fn sleep(&self, seen: u32) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        self.announcements.wait(seen);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The life of worker `number`, from 1.
pub(super) fn serve(launch: &Launch, number: usize) {
    loop {
        serve_once(launch, number);
    }
}

/// Takes part in what there is, else waits.
pub(super) fn serve_once(launch: &Launch, number: usize) {
    let seen = launch.wake_up.seen();
    if launch.has_work(number) {
        launch.join(number);
    } else if !spin_for(|| launch.has_work(number)) {
        // An announcement since `seen` was read ends the sleep at once.
        launch.wake_up.sleep(seen);
    }
}
