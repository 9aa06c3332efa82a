//! The FIFO of one stream: encoding, the worker thread, positions and waiting.
//!
//! Encoding takes a short lock, pushes and returns; the worker takes everything at once, so that both rarely meet. The
//! worker starts with the first command, spins a few microseconds after its last one and then sleeps. Who waits for a
//! position whose commands nobody has taken yet runs them itself, which saves two changes of thread, and takes part in the launch that
//! another thread runs. A command's position is
//! its number in the stream, from 1; positions complete in order, after the command's effects are visible and its blocks are
//! released.

use std::cell::Cell;
use std::hint;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::command::Command;
use super::error::{ErrorBuffer, StreamError};
use crate::capture::{self, Observation};
use crate::engines;
use crate::profile;
use crate::stream_id::StreamId;

/// Turns of the spin loop before a worker or a waiter sleeps: about 20 µs where `pause` takes 40 ns.
const SPIN_TURNS: u32 = 500;

/// Streams with unfinished commands, process-wide.
static BUSY_STREAMS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The stream whose commands this thread runs, if any.
    static RUNS: Cell<Option<u32>> = const { Cell::new(None) };
}

/// The number of streams with unfinished commands, to be read with acquire.
pub(super) fn busy_streams() -> &'static AtomicU64 {
    &BUSY_STREAMS
}

/// The state of one stream; lives in a static.
pub(super) struct Queue {
    id: u32,
    state: Mutex<State>,
    /// The worker sleeps here.
    work: Condvar,
    /// Waiters for positions sleep here.
    done: Condvar,
    /// Position of the last encoded command.
    encoded: AtomicU64,
    /// Position of the last finished command.
    completed: AtomicU64,
    /// Commands encoded and not finished.
    pending: AtomicU64,
    /// Threads that sleep at `done` or are about to.
    waiters: AtomicU32,
    /// Whether `State::error` is set.
    failed: AtomicBool,
    /// Counts forks; a worker of another epoch must stop.
    epoch: AtomicU64,
    pub(super) errors: ErrorBuffer,
}

/// What the lock guards.
pub(super) struct State {
    commands: Vec<Command>,
    worker: Worker,
    /// Whether a thread runs commands that it took: one at a time, so that they run in order.
    running: bool,
    error: Option<StreamError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Worker {
    NotStarted,
    Awake,
    Asleep,
}

impl Queue {
    pub(super) const fn new(id: u32) -> Self {
        Self {
            id,
            state: Mutex::new(State { commands: Vec::new(), worker: Worker::NotStarted, running: false, error: None }),
            work: Condvar::new(),
            done: Condvar::new(),
            encoded: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            waiters: AtomicU32::new(0),
            failed: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            errors: ErrorBuffer::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn position(&self) -> u64 {
        self.encoded.load(Ordering::Acquire)
    }

    pub(super) fn reached(&self, position: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= position
    }

    /// Commands encoded and not finished.
    pub(super) fn pending(&self) -> u64 {
        self.pending.load(Ordering::Acquire)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending() == 0
    }

    /// Appends `command` and returns its position.
    pub(super) fn push(&'static self, mut command: Command) -> u64 {
        let mut state = self.lock();
        let position = self.encoded.load(Ordering::Relaxed) + 1;
        self.encoded.store(position, Ordering::Release);
        // Counted under the lock and before the worker can see the command, so that neither count is ever too small.
        if self.pending.fetch_add(1, Ordering::AcqRel) == 0 {
            BUSY_STREAMS.fetch_add(1, Ordering::AcqRel);
        }
        if profile::sees_commands() {
            command.ticket = Some(profile::encoded(self.id, position, &command.encoding()));
        }
        state.commands.push(command);
        match mem::replace(&mut state.worker, Worker::Awake) {
            Worker::Awake => {}
            Worker::Asleep => {
                drop(state);
                self.work.notify_one();
            }
            Worker::NotStarted => {
                drop(state);
                self.start_worker();
            }
        }
        position
    }

    fn start_worker(&'static self) {
        let epoch = self.epoch.load(Ordering::Acquire);
        let name = format!("mps stream {}", self.id);
        if thread::Builder::new().name(name).spawn(move || self.work_until_fork(epoch)).is_err() {
            // No thread to be had: the commands run here, and the next push tries again.
            self.lock().worker = Worker::NotStarted;
            self.help(self.position());
        }
    }

    fn work_until_fork(&self, epoch: u64) {
        RUNS.set(Some(self.id));
        let mut batch = Vec::new();
        while self.take(&mut batch, epoch) {
            self.run_batch(&mut batch, epoch);
            let mut state = self.lock();
            if self.epoch.load(Ordering::Acquire) == epoch {
                state.running = false;
            }
        }
    }

    /// Waits for commands and moves them all to `batch`; false when this worker belongs to a parent process.
    fn take(&self, batch: &mut Vec<Command>, epoch: u64) -> bool {
        spin_until(|| !self.is_idle());
        let mut state = self.lock();
        loop {
            if self.epoch.load(Ordering::Acquire) != epoch {
                return false;
            }
            if !state.running && !state.commands.is_empty() {
                mem::swap(&mut state.commands, batch);
                state.running = true;
                return true;
            }
            state.worker = Worker::Asleep;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs the commands up to `position` on the calling thread, unless another thread runs commands already.
    fn help(&self, position: u64) {
        let mut state = self.lock();
        if state.running {
            return;
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        // While nobody runs commands, the queue starts with the one after `completed`.
        let missing = position.saturating_sub(self.completed.load(Ordering::Acquire));
        let count = usize::try_from(missing).unwrap_or(usize::MAX).min(state.commands.len());
        let mut batch: Vec<Command> = state.commands.drain(..count).collect();
        state.running = true;
        drop(state);

        let outer = RUNS.replace(Some(self.id));
        self.run_batch(&mut batch, epoch);
        RUNS.set(outer);

        let mut state = self.lock();
        if self.epoch.load(Ordering::Acquire) != epoch {
            return;
        }
        state.running = false;
        if !state.commands.is_empty() && state.worker == Worker::Asleep {
            state.worker = Worker::Awake;
            drop(state);
            self.work.notify_one();
        }
    }

    fn run_batch(&self, batch: &mut Vec<Command>, epoch: u64) {
        let mut previous_ns = None;
        for command in batch.drain(..) {
            let result = self.run(command, &mut previous_ns);
            if self.epoch.load(Ordering::Acquire) != epoch {
                return;
            }
            if let Err(error) = result {
                self.lock().error.get_or_insert(error);
                self.failed.store(true, Ordering::Release);
            }
            self.complete();
        }
    }

    /// Runs the command after the last finished one; the profiler is told if it has seen the command enter. `previous_ns` is
    /// when the batch's previous command ended, by the profiler.
    fn run(&self, command: Command, previous_ns: &mut Option<u64>) -> Result<(), StreamError> {
        let Some(ticket) = command.ticket else {
            *previous_ns = None;
            return self.run_observed(command);
        };
        let position = self.completed.load(Ordering::Acquire) + 1;
        let started_ns = profile::started(self.id, position, *previous_ns);
        let result = self.run_observed(command);
        *previous_ns = Some(profile::finished(self.id, position, ticket, started_ns));
        result
    }

    /// Runs the command after the last finished one; a capture looks before and after.
    fn run_observed(&self, command: Command) -> Result<(), StreamError> {
        if !capture::is_capturing() {
            return command.run();
        }
        let position = self.completed.load(Ordering::Acquire) + 1;
        let observation = Observation::begin(StreamId(self.id), position, &command.observed());
        let (result, retained) = command.run_and_keep();
        if let Some(observation) = observation {
            observation.end(&result);
        }
        drop(retained);
        result
    }

    fn complete(&self) {
        // SeqCst: a waiter announces itself and then looks at `completed`; this stores `completed` and then looks for
        // waiters. One of the two must see the other.
        self.completed.fetch_add(1, Ordering::SeqCst);
        if self.pending.fetch_sub(1, Ordering::SeqCst) == 1 {
            BUSY_STREAMS.fetch_sub(1, Ordering::AcqRel);
        }
        if self.waiters.load(Ordering::SeqCst) != 0 {
            drop(self.lock());
            self.done.notify_all();
        }
    }

    /// Blocks until `position` is finished. Inside a command of this stream everything before that command is finished
    /// already, so this returns at once.
    pub(super) fn wait(&self, position: u64) {
        if self.reached(position) || RUNS.get() == Some(self.id) {
            return;
        }
        profile::waiting(self.id, || self.wait_unreached(position));
    }

    fn wait_unreached(&self, position: u64) {
        self.help(position);
        // Where cores are few this thread is the one that the launch lacks: a worker that is woken while this one spins is put in
        // line behind the stream's worker, and stays there when this core is free.
        while spin_until(|| self.reached(position) || engines::assist()) {
            if self.reached(position) {
                return;
            }
        }
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let mut state = self.lock();
        while self.completed.load(Ordering::SeqCst) < position {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    /// The next deferred error: kernel messages first, then the first failed command.
    pub(super) fn take_error(&self) -> Option<StreamError> {
        if let Some(error) = self.errors.take() {
            return Some(error);
        }
        if !self.failed.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.lock();
        self.failed.store(false, Ordering::Release);
        state.error.take()
    }

    /// Makes the queue usable in a forked child, where no worker exists: empty, idle, every position reached.
    ///
    /// The commands are forgotten, not dropped: dropping may run code of other libraries, which is not safe right after a
    /// fork. `state` is this queue's lock, taken before the fork.
    pub(super) fn reset_after_fork(&self, state: &mut State) {
        mem::forget(mem::take(&mut state.commands));
        mem::forget(state.error.take());
        state.worker = Worker::NotStarted;
        state.running = false;
        self.failed.store(false, Ordering::Release);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.completed.store(self.encoded.load(Ordering::Acquire), Ordering::SeqCst);
        self.waiters.store(0, Ordering::SeqCst);
        if self.pending.swap(0, Ordering::SeqCst) != 0 {
            BUSY_STREAMS.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Spins until `ready` or for [`SPIN_TURNS`]; says whether `ready` was seen. Does not spin on a machine with one core.
pub(crate) fn spin_until(ready: impl Fn() -> bool) -> bool {
    for _ in 0..spin_turns() {
        if ready() {
            return true;
        }
        hint::spin_loop();
    }
    ready()
}

fn spin_turns() -> u32 {
    static TURNS: AtomicU32 = AtomicU32::new(u32::MAX);
    match TURNS.load(Ordering::Relaxed) {
        u32::MAX => {
            let turns = if thread::available_parallelism().map_or(1, usize::from) > 1 { SPIN_TURNS } else { 0 };
            TURNS.store(turns, Ordering::Relaxed);
            turns
        }
        turns => turns,
    }
}
