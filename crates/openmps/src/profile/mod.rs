//! The profiler: which operations are traced and logged, whether each one is waited for, and where it all goes.
//!
//! Masks come from `PYTORCH_MPS_TRACE_SIGNPOSTS` and `PYTORCH_MPS_LOG_PROFILE_INFO`, and `torch.mps.profiler` starts and
//! stops traces. Signposts become events of a Perfetto trace (`trace/`), lines and tables go to standard error in PyTorch's
//! words (`text.rs`, `tables.rs`). While nothing is profiled, an operation costs one relaxed load ([`flags`]).
//!
//! Left out: `os_log`, whose signposts Instruments would show.

mod clock;
mod exit;
mod launch_tensors;
mod names;
mod operation;
mod options;
mod record;
mod statistics;
mod tables;
mod tensor;
mod text;
mod trace;

#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thiserror::Error;

pub use launch_tensors::{DTYPES, LaunchTensors, OTHER_DTYPE};
pub(crate) use names::pipeline;
pub use names::{NameId, operator};
pub(crate) use operation::{Encoding, Ticket, encoded, finished, launch, started, waiting};
pub use operation::{Operation, Running, begin, end};
use options::Masks;
pub use options::{LogOptions, ProfileOptions, SignpostTypes};
pub(crate) use record::Work;
pub use statistics::{CopyShape, Kind};
pub use tensor::{RETAIN_SHIFT, header as tensor_words};

use crate::settings::{Settings, SettingsError};
use crate::stream;

/// Why the profiler refused; the texts are PyTorch's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// An environment variable has unknown bits.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A trace runs.
    #[error("Tracing Signposts is already enabled ")]
    AlreadyTracing,
    /// A word of the mode is neither `interval` nor `event`.
    #[error("Invalid Signpost trace mode: {0}")]
    Mode(String),
    /// Events alone have no scheduling to include.
    #[error("the option 'INCLUDE_SCHEDULE_INTERVAL' only works for interval-based signposts")]
    ScheduleInterval,
    /// The tables cannot be printed on an interrupt.
    #[error("Cannot install SIGINT handler for MPSProfiler.")]
    Interrupt,
}

/// Bits of [`flags`].
pub mod flag {
    /// Operators and kernels are traced or logged.
    pub const OPERATION: u32 = 1;
    /// Copies are traced or logged.
    pub const COPY: u32 = 1 << 1;
    /// Fallbacks are traced or logged.
    pub const FALLBACK: u32 = 1 << 2;
    /// A trace is being written.
    pub const TRACE: u32 = 1 << 3;
    /// Tensors of kernels are asked for.
    pub const TENSORS: u32 = 1 << 4;
    /// Buffer ids of tensors are asked for.
    pub const BUFFER_IDS: u32 = 1 << 5;
    /// A capture wants to know of all operations.
    pub const CAPTURE: u32 = 1 << 6;
}

static PROFILER: Mutex<Option<Masks>> = Mutex::new(None);
static FLAGS: AtomicU32 = AtomicU32::new(0);
/// [`Masks`] for those who must not wait for the lock.
static MASKS: AtomicU64 = AtomicU64::new(0);
static WAITS: AtomicBool = AtomicBool::new(false);
/// The program is over.
static ENDED: AtomicBool = AtomicBool::new(false);
/// The file of the trace that runs cannot be written.
static TRACE_FAILED: AtomicBool = AtomicBool::new(false);

/// What is profiled: bits of [`flag`]. One relaxed load.
#[inline]
#[must_use]
pub fn flags() -> u32 {
    FLAGS.load(Ordering::Relaxed)
}

/// The place of [`flags`], for who reads it without a call.
#[must_use]
pub fn flags_place() -> &'static AtomicU32 {
    &FLAGS
}

/// Whether the profiler wants to know of commands of streams.
pub(crate) fn sees_commands() -> bool {
    flags() & (flag::OPERATION | flag::TRACE) != 0
}

/// A capture begins or ends, which wants to know of all operations.
pub(crate) fn set_capture(is_on: bool) {
    if is_on {
        FLAGS.fetch_or(flag::CAPTURE, Ordering::Relaxed);
    } else {
        FLAGS.fetch_and(!flag::CAPTURE, Ordering::Relaxed);
    }
}

fn masks() -> Masks {
    Masks::from_word(MASKS.load(Ordering::Relaxed))
}

/// The profiler, constructed on first use from the environment; a failed construction is tried again next time.
fn with_profiler<T>(act: impl FnOnce(&mut Masks) -> Result<T, ProfileError>) -> Result<T, ProfileError> {
    let mut profiler: MutexGuard<'static, Option<Masks>> = lock();
    let masks = match &mut *profiler {
        Some(masks) => masks,
        none => {
            let settings = Settings::process();
            none.insert(Masks::from_environment(settings.log_profile_info, settings.trace_signposts)?)
        }
    };
    let result = act(masks);
    WAITS.store(masks.profile.contains(ProfileOptions::WAIT_UNTIL_COMPLETED), Ordering::Relaxed);
    MASKS.store(masks.word(), Ordering::Relaxed);
    let flags = flags_of(*masks);
    // The capture's bit is not the profiler's to change.
    let _ = FLAGS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(flags | old & flag::CAPTURE));
    let masks = *masks;
    drop(profiler);
    if masks.log.contains(LogOptions::ANY_STATS) {
        exit::install_interrupt().map_err(|()| ProfileError::Interrupt)?;
    }
    if masks.log.contains(LogOptions::ANY_STATS) || !masks.signposts.is_empty() {
        exit::install_at_exit();
    }
    result
}

fn lock() -> MutexGuard<'static, Option<Masks>> {
    PROFILER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn flags_of(masks: Masks) -> u32 {
    if ENDED.load(Ordering::Relaxed) {
        return 0;
    }
    type L = LogOptions;
    let kinds = [
        (flag::OPERATION, SignpostTypes::RUN_OPERATION, L::OPERATION_INFO | L::OPERATION_STATS),
        (flag::COPY, SignpostTypes::BLIT_COPY, L::COPY_INFO | L::COPY_STATS),
        (flag::FALLBACK, SignpostTypes::CPU_FALLBACK, L::CPU_FALLBACK_INFO | L::CPU_FALLBACK_STATS),
    ];
    let is_asked = |signpost, log| masks.signposts.contains(signpost) || masks.log.contains(log);
    let kinds = kinds.into_iter().filter(|&(_, signpost, log)| is_asked(signpost, log));
    let mut flags = kinds.fold(0, |flags, (flag, ..)| flags | flag);
    if !masks.signposts.is_empty() && !TRACE_FAILED.load(Ordering::Relaxed) {
        flags |= flag::TRACE;
    }
    let traces_operations = flags & flag::TRACE != 0 && masks.signposts.contains(SignpostTypes::RUN_OPERATION);
    if traces_operations || masks.log.contains(L::OPERATION_INFO | L::OPERATION_STATS) {
        flags |= flag::TENSORS;
    }
    if masks.log.contains(L::INCLUDE_BUFFER_ID) {
        flags |= flag::BUFFER_IDS;
    }
    flags
}

/// Constructs the profiler, so that masks which the environment gets wrong are reported.
///
/// # Errors
/// [`ProfileError::Settings`], [`ProfileError::ScheduleInterval`].
pub fn initialize() -> Result<(), ProfileError> {
    with_profiler(|_| Ok(()))
}

/// Starts a trace. `mode` is `interval`, `event` or both with a comma between; an empty mode starts nothing.
///
/// # Errors
/// [`ProfileError::AlreadyTracing`] when any profile option is active; [`ProfileError::Mode`] for an unknown word, where the
/// words before it stay in force until [`stop_trace`]; and those of [`initialize`].
pub fn start_trace(mode: &str, wait_until_completed: bool) -> Result<(), ProfileError> {
    with_profiler(|masks| {
        masks.start(mode, wait_until_completed)?;
        TRACE_FAILED.store(false, Ordering::Relaxed);
        Ok(())
    })?;
    if flags() & flag::TRACE != 0 {
        write_trace();
    }
    Ok(())
}

/// Ends the trace, if any, after what was encoded; its file is whole then. Log options stay.
pub fn stop_trace() {
    if flags() & flag::TRACE != 0 {
        stream::wait_idle_all();
    }
    // The only error is a profiler that cannot be constructed; then no trace runs.
    let _ = with_profiler(|masks| {
        masks.stop();
        Ok(())
    });
    trace::stop();
}

/// Starts the writer of a trace that runs, unless it is there.
fn write_trace() {
    let masks = masks();
    let show = trace::Show {
        intervals: masks.profile.contains(ProfileOptions::USE_INTERVALS),
        events: masks.profile.contains(ProfileOptions::USE_EVENTS),
        schedule: masks.profile.contains(ProfileOptions::INCLUDE_SCHEDULE_INTERVAL),
        kernel_time: masks.log.contains(LogOptions::INCLUDE_KERNEL_TIME),
        operations: masks.signposts.contains(SignpostTypes::RUN_OPERATION),
    };
    trace::start(&trace::folder(Settings::process().trace_dir.as_ref()), show);
}

/// The trace's file cannot be written: nothing is noted any more. The masks stay, so that `start` and `stop` mean the same.
fn trace_failed() {
    TRACE_FAILED.store(true, Ordering::Relaxed);
    let flags = flags_of(masks());
    let _ = FLAGS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(flags | old & flag::CAPTURE));
}

/// The program is over, the process not yet: nothing that happens from now on is its doing, so nothing is noted. The tables and
/// the end of a trace come when the process exits.
pub fn program_ended() {
    if flags() & !flag::CAPTURE != 0 {
        stream::wait_idle_all();
    }
    ENDED.store(true, Ordering::Relaxed);
    FLAGS.store(0, Ordering::Relaxed);
}

/// The end of the process: what was encoded runs, the trace becomes whole, tables are printed.
fn finish() {
    if flags() & !flag::CAPTURE != 0 {
        stream::wait_idle_all();
    }
    trace::stop();
    print_statistics();
}

/// Prints the tables that the log asks for, once.
fn print_statistics() {
    static PRINTED: AtomicBool = AtomicBool::new(false);
    let log = masks().log;
    if log.contains(LogOptions::ANY_STATS) && !PRINTED.swap(true, Ordering::AcqRel) {
        let text = tables::tables(log, &statistics::lock());
        // Nowhere is left to say that standard error is closed.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Whether a trace runs.
#[must_use]
pub fn is_tracing() -> bool {
    with_profiler(|masks| Ok(!masks.profile.is_empty())).unwrap_or(false)
}

/// Whether every traced operation is waited for: one atomic load.
#[must_use]
pub fn waits_until_completed() -> bool {
    WAITS.load(Ordering::Relaxed)
}

/// The profiler's locks, held over a fork.
pub(crate) struct ForkGuard {
    #[expect(dead_code, reason = "held, never read")]
    masks: MutexGuard<'static, Option<Masks>>,
    session: trace::SessionGuard,
    logs: record::LogsGuard,
    #[expect(dead_code, reason = "held, never read")]
    statistics: MutexGuard<'static, statistics::Statistics>,
    #[expect(dead_code, reason = "held, never read")]
    names: MutexGuard<'static, names::Names>,
}

pub(crate) fn lock_for_fork() -> ForkGuard {
    ForkGuard {
        masks: lock(),
        session: trace::lock_for_fork(),
        logs: record::lock_for_fork(),
        statistics: statistics::lock(),
        names: names::lock(),
    }
}

impl ForkGuard {
    /// A trace goes on in a file of the child's own, which is made when something is noted.
    pub(crate) fn reset_after_fork(&mut self) {
        self.session.reset_after_fork();
        self.logs.reset_after_fork();
    }
}
