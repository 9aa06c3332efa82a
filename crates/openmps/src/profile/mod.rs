//! The profiler's switches: which operations are traced, whether each one is waited for, and what the log would say.
//!
//! Masks come from `PYTORCH_MPS_TRACE_SIGNPOSTS` and `PYTORCH_MPS_LOG_PROFILE_INFO`, and `torch.mps.profiler` starts and
//! stops traces. What acts today is `wait_until_completed`: each kernel launch then waits for its stream. Signposts, log
//! lines and tables are not produced yet.

mod options;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use options::Masks;
pub use options::{LogOptions, ProfileOptions, SignpostTypes};

use crate::settings::{Settings, SettingsError};

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
}

static PROFILER: Mutex<Option<Masks>> = Mutex::new(None);
static WAITS: AtomicBool = AtomicBool::new(false);

/// The profiler, constructed on first use from the environment; a failed construction is tried again next time.
fn with_profiler<T>(act: impl FnOnce(&mut Masks) -> Result<T, ProfileError>) -> Result<T, ProfileError> {
    let mut profiler: MutexGuard<'static, Option<Masks>> = PROFILER.lock().unwrap_or_else(PoisonError::into_inner);
    let masks = match &mut *profiler {
        Some(masks) => masks,
        none => {
            let settings = Settings::process();
            none.insert(Masks::from_environment(settings.log_profile_info, settings.trace_signposts)?)
        }
    };
    let result = act(masks);
    WAITS.store(masks.profile.contains(ProfileOptions::WAIT_UNTIL_COMPLETED), Ordering::Relaxed);
    result
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
    with_profiler(|masks| masks.start(mode, wait_until_completed))
}

/// Ends the trace, if any. Log options stay.
pub fn stop_trace() {
    // The only error is a profiler that cannot be constructed; then no trace runs.
    let _ = with_profiler(|masks| {
        masks.stop();
        Ok(())
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_starts_once_and_stops_twice() {
        assert!(!is_tracing());
        start_trace("", true).unwrap();
        assert!(!is_tracing() && !waits_until_completed(), "an empty mode starts nothing");
        start_trace("interval", true).unwrap();
        assert!(is_tracing() && waits_until_completed());
        let text = "Tracing Signposts is already enabled ";
        assert_eq!(start_trace("event", false).unwrap_err().to_string(), text);
        stop_trace();
        stop_trace();
        assert!(!is_tracing() && !waits_until_completed());
        let error = start_trace("event,graph", false).unwrap_err();
        assert_eq!(error.to_string(), "Invalid Signpost trace mode: graph");
        assert!(is_tracing(), "the words before a bad one stay in force");
        stop_trace();
        assert_eq!(initialize(), Ok(()));
    }
}
