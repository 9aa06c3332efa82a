//! GPU captures: a folder `NNNN-<name>.gputrace` with everything that the streams ran while the capture was on, complete enough
//! to run each kernel launch again without this program (`openmps trace replay`).
//!
//! Available when the process started with `MTL_CAPTURE_ENABLED=1`, as on macOS. Recorded are pipelines (source text or a
//! library's bitcode, the compiled module, function constants), launches with their bindings and the contents of all memory
//! that they can reach, before and after, copies, host functions, events, operators that ran on the CPU, and what the allocator
//! did. The format is that of `openmps-trace`. Starting waits for all streams, and so does stopping, so that exactly what was
//! encoded meanwhile is recorded.
//!
//! A capture never stops the program: when the disk is full or the size limit is reached, recording ends, the program goes on,
//! and [`stop`] says so. What other streams or host threads write into the memory of a launch while it runs is not told apart
//! from what the launch wrote.

mod launch;
mod observation;
mod recipe;
mod session;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use openmps_trace::Tensor as TensorNote;
use thiserror::Error;

pub(crate) use observation::{Observation, Observed};
pub(crate) use recipe::{LaunchNotes, Recipe, RecipeOrigin};
use session::Session;

use crate::memory::{BlockEvent, BlockObserver};
use crate::observe::{self, HostOp, Observer};
use crate::settings::Settings;
use crate::stream::{self, StreamError};

/// Why a capture did not start or is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CaptureError {
    /// Nothing is captured.
    #[error("Failed to start capture of {file} error {reason}")]
    Start {
        /// The folder's name.
        file: String,
        /// Why not.
        reason: String,
    },
    /// The capture ended early, and the program went on; what was recorded until then can be read.
    #[error("capture {file} is not complete: {reason}")]
    Write {
        /// The folder's name.
        file: String,
        /// Why not.
        reason: String,
    },
    /// The capture ended; waiting for the streams brought up a deferred error.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

static CAPTURING: AtomicBool = AtomicBool::new(false);
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

/// The session's lock. Whoever holds it must not call the allocator, which calls [`record_block`] under its own.
fn lock() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether captures are available in this process.
#[must_use]
pub fn is_enabled() -> bool {
    Settings::process().capture_enabled
}

/// Whether a capture runs.
#[must_use]
pub fn is_capturing() -> bool {
    CAPTURING.load(Ordering::Relaxed)
}

/// Waits for all streams, then starts a capture of them into `NNNN-<name>.gputrace`, relative to the current folder; NNNN
/// counts the attempts. If `name` has folders in front, they must exist.
///
/// # Errors
/// [`CaptureError::Start`] when captures are not available, one runs already, or the folder cannot be made.
pub fn start(name: &str) -> Result<(), CaptureError> {
    let limit_bytes = Settings::process().capture_limit_bytes;
    start_in(Path::new(""), name, is_enabled(), limit_bytes)
}

fn start_in(folder: &Path, name: &str, enabled: bool, limit_bytes: u64) -> Result<(), CaptureError> {
    static ATTEMPTS: AtomicU32 = AtomicU32::new(0);
    let file = file_name(ATTEMPTS.fetch_add(1, Ordering::Relaxed), name);
    let refuse = |reason: &str| CaptureError::Start { file: file.display().to_string(), reason: reason.into() };
    if !enabled {
        return Err(refuse("Capture layer is not inserted."));
    }
    stream::wait_idle_all();
    let header = session::header(name);
    let mut session = lock();
    if session.is_some() {
        return Err(refuse("Capture manager is already capturing."));
    }
    let started = Session::start(&folder.join(&file), header, limit_bytes);
    *session = Some(started.map_err(|error| refuse(&error.to_string()))?);
    CAPTURING.store(true, Ordering::Relaxed);
    observe::subscribe(Observer::Capture);
    Ok(())
}

/// `NNNN-<name>.gputrace`, behind the folders in `name`.
fn file_name(number: u32, name: &str) -> PathBuf {
    let (folders, name) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
    format!("{folders}{number:04}-{name}.gputrace").into()
}

/// Waits for all streams and ends the capture; without effect on captures when none runs.
///
/// # Errors
/// A deferred error of a stream, else [`CaptureError::Write`]. The capture has ended in any case.
pub fn stop() -> Result<(), CaptureError> {
    stop_after(stream::synchronize_all)
}

fn stop_after(drain: impl FnOnce() -> Result<(), StreamError>) -> Result<(), CaptureError> {
    let drained = drain();
    CAPTURING.store(false, Ordering::Relaxed);
    observe::unsubscribe(Observer::Capture);
    let ended = lock().take().map_or(Ok(()), Session::finish);
    drained?;
    ended
}

/// The allocator's observer.
pub(crate) const BLOCK_OBSERVER: BlockObserver = BlockObserver { is_wanted: &CAPTURING, tell: record_block };

/// Notes what the allocator did.
fn record_block(event: &BlockEvent) {
    if let Some(session) = lock().as_mut() {
        session.block(event);
    }
}

/// Notes an operator that ran on the CPU.
pub(crate) fn record_host_op(op: &HostOp<'_>) {
    if let Some(session) = lock().as_mut() {
        session.host_op(op);
    }
}

/// The session's lock, held over a fork.
pub(crate) struct CaptureGuard(MutexGuard<'static, Option<Session>>);

pub(crate) fn lock_for_fork() -> CaptureGuard {
    CaptureGuard(lock())
}

impl CaptureGuard {
    /// The capture belongs to the parent: the child forgets it.
    pub(crate) fn reset_after_fork(&mut self) {
        CAPTURING.store(false, Ordering::Relaxed);
        observe::unsubscribe(Observer::Capture);
        std::mem::forget(self.0.take());
    }
}

#[cfg(test)]
mod tests;
