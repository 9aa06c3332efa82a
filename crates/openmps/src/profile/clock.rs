//! The clock of profiles: `CLOCK_BOOTTIME`, which is what Perfetto traces count in unless they say otherwise.

use libc::{CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, timespec};

/// Clocks that a trace relates to each other, with the numbers that Perfetto's `BuiltinClock` gives them.
pub(super) const CLOCKS: [(u32, clockid_t); 3] = [(6, CLOCK_BOOTTIME), (3, CLOCK_MONOTONIC), (1, CLOCK_REALTIME)];

/// Nanoseconds since the machine started.
pub(super) fn now_ns() -> u64 {
    read_ns(CLOCK_BOOTTIME)
}

/// Nanoseconds on the clock `id`; 0 for one that the system does not have.
pub(super) fn read_ns(id: clockid_t) -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is a timespec of this function's own; an unknown clock leaves it as it is.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + rest
}

/// Nanoseconds as milliseconds.
pub(super) fn ms(ns: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "104 days of nanoseconds are exact, later ones round")]
    let ns = ns as f64;
    ns / 1e6
}
