//! Who wants to know of operators that run on the CPU, besides the profiler.
//!
//! ATen executes most operators over the device's memory without a command of a stream. The plug-in tells
//! [`crate::profile`] of each, which passes it on to [`host_op`] while someone listens here.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use crate::capture;
use crate::profile;

/// Someone who listens; the discriminants are bits of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observer {
    /// A capture.
    Capture = 1,
}

static OBSERVERS: AtomicU32 = AtomicU32::new(0);
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// An operator that ran.
#[derive(Clone, Copy, Debug)]
pub struct HostOp<'a> {
    /// `aten::add.Tensor`.
    pub name: &'a str,
    /// Its tensors, one a line: `MPS:Float[2, 3]`.
    pub tensors: &'a str,
    /// When it began, by [`now_ns`].
    pub started_ns: u64,
    /// When it ended, by [`now_ns`].
    pub ended_ns: u64,
}

/// The bits of those who listen.
#[inline]
#[must_use]
pub fn observers() -> u32 {
    OBSERVERS.load(Ordering::Relaxed)
}

/// Nanoseconds on a clock of this module's own, which never goes back.
#[must_use]
pub fn now_ns() -> u64 {
    u64::try_from(ORIGIN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Tells everyone who listens that an operator ran.
pub fn host_op(op: &HostOp<'_>) {
    if observers() & Observer::Capture as u32 != 0 {
        capture::record_host_op(op);
    }
}

pub(crate) fn subscribe(observer: Observer) {
    // The clock starts before anyone reads it.
    LazyLock::force(&ORIGIN);
    OBSERVERS.fetch_or(observer as u32, Ordering::Relaxed);
    profile::set_capture(true);
}

pub(crate) fn unsubscribe(observer: Observer) {
    OBSERVERS.fetch_and(!(observer as u32), Ordering::Relaxed);
    profile::set_capture(observers() != 0);
}
