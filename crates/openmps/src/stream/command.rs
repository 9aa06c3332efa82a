//! What a stream executes, and how one command ends: done, failed or panicked, never unfinished.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use openmps_engine::{Bindings, CompiledKernel, DispatchError, Grid};

use super::error::{CODE_INTERNAL, CODE_INVALID_RESOURCE, StreamError};
use super::retained::Retained;
use crate::capture::{LaunchNotes, Observed};
use crate::event::{Signal, SignalWait};
use crate::profile::{self, Encoding, NameId, Ticket};

/// One unit of work of a stream, run after everything encoded before it.
pub struct Command {
    work: Work,
    retained: Retained,
    /// The pipeline's name, for kernels that have one.
    label: NameId,
    /// What the profiler wants to see again.
    pub(super) ticket: Option<Ticket>,
}

enum Work {
    Dispatch { kernel: Arc<dyn CompiledKernel>, bindings: Bindings, grid: Grid, notes: Option<Box<LaunchNotes>> },
    Host { name: &'static str, call: HostCall },
    Copy { source: usize, destination: usize, size_bytes: usize },
    Signal(Signal),
    Wait(SignalWait),
}

/// What [`Command::host`] runs.
pub type HostCall = Box<dyn FnOnce() -> Result<(), StreamError> + Send>;

impl Command {
    fn new(work: Work) -> Self {
        Self { work, retained: Retained::default(), label: NameId::default(), ticket: None }
    }

    /// Runs `kernel` over `grid`.
    #[must_use]
    pub fn dispatch(kernel: Arc<dyn CompiledKernel>, bindings: Bindings, grid: Grid) -> Self {
        Self::dispatch_with(kernel, bindings, grid, None)
    }

    /// As [`dispatch`](Self::dispatch), with what captures record beside.
    pub(crate) fn dispatch_with(
        kernel: Arc<dyn CompiledKernel>,
        bindings: Bindings,
        grid: Grid,
        notes: Option<Box<LaunchNotes>>,
    ) -> Self {
        Self::new(Work::Dispatch { kernel, bindings, grid, notes })
    }

    /// Calls `call` on the stream's worker thread or on one that waits for the stream; `name` is for captures. An error is
    /// deferred to the next check.
    #[must_use]
    pub fn host(name: &'static str, call: impl FnOnce() -> Result<(), StreamError> + Send + 'static) -> Self {
        Self::new(Work::Host { name, call: Box::new(call) })
    }

    /// Copies `size_bytes` bytes; the ranges may overlap.
    ///
    /// # Safety
    /// Until the command has run, `source` is valid for reads and `destination` for writes of `size_bytes` bytes.
    #[must_use]
    pub unsafe fn copy(source: *const u8, destination: *mut u8, size_bytes: usize) -> Self {
        let work =
            Work::Copy { source: source.expose_provenance(), destination: destination.expose_provenance(), size_bytes };
        Self::new(work)
    }

    pub(crate) fn signal(signal: Signal) -> Self {
        Self::new(Work::Signal(signal))
    }

    pub(crate) fn wait(wait: SignalWait) -> Self {
        Self::new(Work::Wait(wait))
    }

    /// Holds the allocator's blocks in `retained` until the command has run.
    #[must_use]
    pub fn retaining(mut self, retained: Retained) -> Self {
        self.retained = retained;
        self
    }

    /// Names the pipeline that the command runs, for the profiler.
    pub(crate) fn labelled(mut self, label: NameId) -> Self {
        self.label = label;
        self
    }

    /// What the profiler wants to know.
    pub(super) fn encoding(&self) -> Encoding {
        let (grid, group) = match &self.work {
            Work::Dispatch { grid, .. } => (grid.threads, grid.group),
            Work::Host { .. } | Work::Copy { .. } | Work::Signal(_) | Work::Wait(_) => ([0; 3], [0; 3]),
        };
        let work = match &self.work {
            Work::Dispatch { .. } => profile::Work::Dispatch,
            Work::Host { .. } => profile::Work::Host,
            Work::Copy { .. } => profile::Work::Copy,
            Work::Signal(_) => profile::Work::Signal,
            Work::Wait(_) => profile::Work::Wait,
        };
        Encoding { work, label: self.label, grid, group }
    }

    /// What captures see of the command.
    pub(super) fn observed(&self) -> Observed<'_> {
        match &self.work {
            Work::Dispatch { kernel, bindings, grid, notes } => {
                Observed::Launch { signature: kernel.signature(), bindings, grid, notes: notes.as_deref() }
            }
            Work::Host { name, .. } => Observed::Host(name),
            Work::Copy { source, destination, size_bytes } => Observed::Copy {
                source: *source as u64,
                destination: *destination as u64,
                size_bytes: *size_bytes as u64,
            },
            Work::Signal(signal) => Observed::Signal { event: signal.event_id().into(), value: signal.value() },
            Work::Wait(wait) => Observed::Wait { event: wait.event_id().into(), value: wait.value() },
        }
    }

    /// Runs the command and lets go of what it retains. A panic inside becomes an error.
    pub(super) fn run(self) -> Result<(), StreamError> {
        self.run_and_keep().0
    }

    /// As [`run`](Self::run), but what the command retains is still held.
    pub(super) fn run_and_keep(self) -> (Result<(), StreamError>, Retained) {
        let Self { work, retained, .. } = self;
        let result = catch_unwind(AssertUnwindSafe(|| work.run()))
            .unwrap_or_else(|panic| Err(StreamError::internal(panic_text(panic.as_ref()))));
        (result, retained)
    }
}

impl Work {
    fn run(self) -> Result<(), StreamError> {
        match self {
            Self::Dispatch { kernel, bindings, grid, .. } => run_dispatch(kernel.as_ref(), &bindings, &grid),
            Self::Host { call, .. } => call(),
            Self::Copy { source, destination, size_bytes } => {
                let source = ptr::with_exposed_provenance::<u8>(source);
                let destination = ptr::with_exposed_provenance_mut::<u8>(destination);
                // SAFETY: the caller of `Command::copy` keeps both ranges valid until the command has run.
                unsafe { ptr::copy(source, destination, size_bytes) };
                Ok(())
            }
            Self::Signal(signal) => {
                signal.fire();
                Ok(())
            }
            Self::Wait(wait) => {
                wait.block();
                Ok(())
            }
        }
    }
}

/// The text of a panic's payload.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a command panicked".into());
    format!("command stopped by a panic: {text}")
}

/// Where a dispatch leaves its result; an engine may finish on another thread.
#[derive(Default)]
struct Outcome {
    result: Mutex<Option<Result<(), DispatchError>>>,
    set: Condvar,
}

/// Sets the outcome exactly once, also when the engine drops the completion without calling it.
struct Finish {
    outcome: Arc<Outcome>,
    kernel: Option<String>,
}

impl Finish {
    fn set(&mut self, result: Result<(), DispatchError>) {
        self.kernel = None;
        *self.outcome.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.outcome.set.notify_all();
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        if let Some(kernel) = self.kernel.take() {
            let reason = "the engine gave the dispatch up without a result".into();
            self.set(Err(DispatchError::Failed { kernel, reason }));
        }
    }
}

fn run_dispatch(kernel: &dyn CompiledKernel, bindings: &Bindings, grid: &Grid) -> Result<(), StreamError> {
    let outcome = Arc::new(Outcome::default());
    let mut finish = Finish { outcome: Arc::clone(&outcome), kernel: Some(kernel.signature().name.clone()) };
    kernel.dispatch(bindings, grid, Box::new(move |result| finish.set(result)));

    let mut result = outcome.result.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match result.take() {
            Some(result) => return result.map_err(execution_error),
            None => result = outcome.set.wait(result).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used as a map_err function")]
fn execution_error(error: DispatchError) -> StreamError {
    let code = match &error {
        DispatchError::Unbound { .. }
        | DispatchError::UnboundResource { .. }
        | DispatchError::TextureMismatch { .. } => CODE_INVALID_RESOURCE,
        DispatchError::Failed { .. } => CODE_INTERNAL,
    };
    StreamError::Execution { is_oom: false, code, message: error.to_string() }
}
