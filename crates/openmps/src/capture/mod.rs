//! GPU captures: a folder `NNNN-<name>.gputrace` that says what the streams were given while the capture ran.
//!
//! Available when the process started with `MTL_CAPTURE_ENABLED=1`, as on macOS. The folder holds `manifest.txt`: a line
//! `openmps capture 1`, then one line a command in the order in which each stream got it, `stream=<id> position=<n>
//! <command>`, and at the end `commands=<count>`. Commands are described by kind, kernel, grid and sizes; buffer contents
//! are not stored. Stopping waits for all streams first, so every listed command has run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::settings::Settings;
use crate::stream::{self, Command, StreamError, StreamId};

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
    /// The capture ended, but not everything could be written.
    #[error("Failed to write capture {file}: {reason}")]
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

struct Capture {
    file: String,
    manifest: BufWriter<File>,
    commands: u64,
    /// The first failed write.
    failed: Option<io::Error>,
}

static CAPTURING: AtomicBool = AtomicBool::new(false);
static CAPTURE: Mutex<Option<Capture>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Capture>> {
    CAPTURE.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Starts a capture of all streams into `NNNN-<name>.gputrace`, relative to the current folder; NNNN counts the attempts.
///
/// # Errors
/// [`CaptureError::Start`] when captures are not available, one runs already, or the folder cannot be made.
pub fn start(name: &str) -> Result<(), CaptureError> {
    start_in(Path::new(""), name, is_enabled())
}

fn start_in(folder: &Path, name: &str, enabled: bool) -> Result<(), CaptureError> {
    static ATTEMPTS: AtomicU32 = AtomicU32::new(0);
    let file = format!("{:04}-{name}.gputrace", ATTEMPTS.fetch_add(1, Ordering::Relaxed));
    let mut capture = lock();
    let refuse = |reason: &str| Err(CaptureError::Start { file: file.clone(), reason: reason.into() });
    if !enabled {
        return refuse("Capture layer is not inserted.");
    }
    if capture.is_some() {
        return refuse("Capture manager is already capturing.");
    }
    match create(&folder.join(&file)) {
        Ok(manifest) => *capture = Some(Capture { file, manifest, commands: 0, failed: None }),
        Err(error) => return refuse(&error.to_string()),
    }
    CAPTURING.store(true, Ordering::Relaxed);
    Ok(())
}

fn create(folder: &Path) -> io::Result<BufWriter<File>> {
    fs::create_dir(folder).or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) })?;
    let mut manifest = BufWriter::new(File::create(folder.join("manifest.txt"))?);
    writeln!(manifest, "openmps capture 1")?;
    Ok(manifest)
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
    let ended = lock().take().map_or(Ok(()), Capture::finish);
    drained?;
    ended
}

impl Capture {
    fn finish(mut self) -> Result<(), CaptureError> {
        let count = self.commands;
        let written = writeln!(self.manifest, "commands={count}").and_then(|()| self.manifest.flush());
        match self.failed.map_or(written, Err) {
            Ok(()) => Ok(()),
            Err(error) => Err(CaptureError::Write { file: self.file, reason: error.to_string() }),
        }
    }
}

/// Notes a command that `stream` gets at `position`.
pub(crate) fn record(stream: StreamId, position: u64, command: &Command) {
    if let Some(capture) = lock().as_mut() {
        capture.commands += 1;
        let line = command.describe();
        if let Err(error) = writeln!(capture.manifest, "stream={} position={position} {line}", stream.0) {
            capture.failed.get_or_insert(error);
        }
    }
}

/// The capture's lock, held over a fork.
pub(crate) struct CaptureGuard(MutexGuard<'static, Option<Capture>>);

pub(crate) fn lock_for_fork() -> CaptureGuard {
    CaptureGuard(lock())
}

impl CaptureGuard {
    /// The capture belongs to the parent: the child forgets it and what it had not written yet.
    pub(crate) fn reset_after_fork(&mut self) {
        CAPTURING.store(false, Ordering::Relaxed);
        std::mem::forget(self.0.take());
    }
}

#[cfg(test)]
mod tests;
