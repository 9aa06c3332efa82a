//! Events: marks in streams that other streams, and the host, can wait for and whose times can be compared.
//!
//! Ids are numbers from 1. A released event goes to a stack and keeps its id, so the next acquire may return it. Each event
//! counts its records; recording encodes "signal k" in a stream and waiting compares with the k of the last record. Time
//! stamps are taken by the stream's worker when it reaches the signal, and carry the number of their record, so that a late
//! one never replaces a newer one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use thiserror::Error;

use crate::stream::{Command, Stream, StreamError, spin_until};

/// Why an operation on an event failed; the texts are PyTorch's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EventError {
    /// The id is not acquired.
    #[error("Invalid Event ID: {0}")]
    InvalidId(u32),
    /// An event with timing was recorded without a commit.
    #[error("Timing-enabled MPS events must commit when recorded")]
    TimingNeedsCommit,
    /// Elapsed time of an event without timing.
    #[error("Events were not created with argument 'enable_timing=True'")]
    NoTiming,
    /// Elapsed time of an event that was never recorded.
    #[error("Both events must be recorded before calculating elapsed time")]
    NotRecorded,
    /// The stream lost the record, which happens only in a forked child.
    #[error("MPS event timing failed because the GPU work for an event did not complete")]
    NotCompleted,
    /// The end is before the start.
    #[error("End event {end} was not recorded after start event {start}")]
    Order {
        /// The id given as end.
        end: u32,
        /// The id given as start.
        start: u32,
    },
    /// Waiting for the default stream brought up a deferred error.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// What an event shares with the commands that signal it and wait for it.
#[derive(Debug, Default)]
struct Shared {
    /// The largest signalled count.
    value: AtomicU64,
    /// Completion time of the newest timed record.
    stamp: Mutex<Stamp>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// The count of the record that was timed.
    count: u64,
    /// Nanoseconds on the process's clock; 0 when none was taken.
    time_ns: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Stamp> {
        self.stamp.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self, count: u64) -> bool {
        self.value.load(Ordering::Acquire) >= count
    }

    fn wait(&self, count: u64) {
        if spin_until(|| self.reached(count)) {
            return;
        }
        let mut stamp = self.lock();
        while !self.reached(count) {
            stamp = self.changed.wait(stamp).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The command "signal count": made by recording, run by a stream.
pub(crate) struct Signal {
    id: u32,
    shared: Arc<Shared>,
    count: u64,
    timing: bool,
}

impl Signal {
    pub(crate) fn event_id(&self) -> u32 {
        self.id
    }

    pub(crate) fn value(&self) -> u64 {
        self.count
    }

    pub(crate) fn fire(self) {
        let mut stamp = self.shared.lock();
        if self.timing && self.count > stamp.count {
            *stamp = Stamp { count: self.count, time_ns: now_ns() };
        }
        self.shared.value.fetch_max(self.count, Ordering::AcqRel);
        drop(stamp);
        self.shared.changed.notify_all();
    }
}

/// The command "wait for count".
pub(crate) struct SignalWait {
    id: u32,
    shared: Arc<Shared>,
    count: u64,
}

impl SignalWait {
    pub(crate) fn event_id(&self) -> u32 {
        self.id
    }

    pub(crate) fn value(&self) -> u64 {
        self.count
    }

    pub(crate) fn block(self) {
        self.shared.wait(self.count);
    }
}

/// Nanoseconds since the first call, starting at 1, so that 0 means "no time".
fn now_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed().as_nanos();
    u64::try_from(elapsed).unwrap_or(u64::MAX - 1) + 1
}

#[derive(Debug)]
struct Event {
    acquired: bool,
    timing: bool,
    recorded: bool,
    stream: Stream,
    /// Records so far on `stream`.
    count: u64,
    shared: Arc<Shared>,
}

impl Event {
    /// Binds the event to `stream`. On another stream the count restarts, with a new shared state, so that signals still
    /// queued for the old one cannot be mistaken for new ones.
    fn bind(&mut self, stream: Stream) {
        if self.stream != stream {
            self.stream = stream;
            self.count = 0;
            self.shared = Arc::default();
        }
    }
}

/// The process's events.
pub struct EventPool {
    events: Mutex<Events>,
}

#[derive(Default)]
struct Events {
    /// The event with id `i` is at `i - 1`.
    all: Vec<Event>,
    /// Released ids; the last one is acquired next.
    free: Vec<u32>,
}

impl Events {
    /// The id of the newest event.
    fn last_id(&self) -> u32 {
        u32::try_from(self.all.len()).unwrap_or_else(|_| unreachable!("four billion events do not fit in memory"))
    }

    fn get(&mut self, id: u32) -> Result<&mut Event, EventError> {
        let index = id.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.all.get_mut(index)).filter(|event| event.acquired).ok_or(EventError::InvalidId(id))
    }
}

/// The pool's lock, held over a fork.
pub(crate) struct PoolGuard<'a>(MutexGuard<'a, Events>);

impl PoolGuard<'_> {
    /// In a forked child nobody signals what the parent's streams had queued: every event counts as signalled, without time.
    pub(crate) fn reset_after_fork(&mut self) {
        for event in &mut self.0.all {
            let shared = Shared { value: AtomicU64::new(event.count), ..Shared::default() };
            // The old state may be locked by a thread that does not exist here: it is left alone, not dropped.
            std::mem::forget(std::mem::replace(&mut event.shared, Arc::new(shared)));
        }
    }
}

impl EventPool {
    /// The one pool of the process.
    pub fn shared() -> &'static Self {
        static POOL: EventPool = EventPool { events: Mutex::new(Events { all: Vec::new(), free: Vec::new() }) };
        &POOL
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock(&self) -> PoolGuard<'_> {
        PoolGuard(self.events())
    }

    /// Takes an event on the default stream: not recorded, with or without timing. Returns its id.
    pub fn acquire(&self, timing: bool) -> u32 {
        let mut events = self.events();
        if let Some(id) = events.free.pop() {
            let event = &mut events.all[id as usize - 1];
            event.bind(Stream::default_stream());
            event.acquired = true;
            event.timing = timing;
            event.recorded = false;
            event.shared.lock().time_ns = 0;
            return id;
        }
        events.all.push(Event {
            acquired: true,
            timing,
            recorded: false,
            stream: Stream::default_stream(),
            count: 0,
            shared: Arc::default(),
        });
        events.last_id()
    }

    /// Gives the event back.
    ///
    /// # Errors
    /// [`EventError::InvalidId`].
    pub fn release(&self, id: u32) -> Result<(), EventError> {
        let mut events = self.events();
        events.get(id)?.acquired = false;
        events.free.push(id);
        Ok(())
    }

    /// Records the event in `stream`, binding it to that stream, and commits.
    ///
    /// # Errors
    /// [`EventError::InvalidId`].
    pub fn record(&self, id: u32, stream: Stream) -> Result<(), EventError> {
        self.encode_record(id, stream, true)?;
        stream.commit();
        Ok(())
    }

    /// Records the event without a commit; for the allocator's marks on blocks.
    ///
    /// # Errors
    /// [`EventError::InvalidId`]; [`EventError::TimingNeedsCommit`] for an event with timing.
    pub fn record_without_commit(&self, id: u32, stream: Stream) -> Result<(), EventError> {
        self.encode_record(id, stream, false)
    }

    fn encode_record(&self, id: u32, stream: Stream, commits: bool) -> Result<(), EventError> {
        let mut events = self.events();
        let event = events.get(id)?;
        if event.timing && !commits {
            return Err(EventError::TimingNeedsCommit);
        }
        event.bind(stream);
        event.count += 1;
        event.recorded = true;
        let signal = Signal { id, shared: Arc::clone(&event.shared), count: event.count, timing: event.timing };
        // Under the lock: signals of one event enter the stream in the order of their counts.
        stream.encode_without_limit(Command::signal(signal));
        Ok(())
    }

    /// Makes later commands of `stream` wait for the event's last record. Without effect when it was not recorded since it
    /// was acquired, or is signalled already.
    ///
    /// # Errors
    /// [`EventError::InvalidId`].
    pub fn wait(&self, id: u32, stream: Stream) -> Result<(), EventError> {
        if let Some((shared, count)) = self.unsignalled(id)? {
            stream.encode(Command::wait(SignalWait { id, shared, count }));
            stream.commit();
        }
        Ok(())
    }

    /// Whether the event was recorded and its last record is signalled.
    ///
    /// # Errors
    /// [`EventError::InvalidId`].
    pub fn query(&self, id: u32) -> Result<bool, EventError> {
        let mut events = self.events();
        let event = events.get(id)?;
        Ok(event.recorded && event.shared.reached(event.count))
    }

    /// Blocks until the event's last record is signalled; returns at once when it was never recorded.
    ///
    /// # Errors
    /// [`EventError::InvalidId`].
    pub fn synchronize(&self, id: u32) -> Result<(), EventError> {
        if let Some((shared, count)) = self.unsignalled(id)? {
            shared.wait(count);
        }
        Ok(())
    }

    /// What to wait for, if anything.
    fn unsignalled(&self, id: u32) -> Result<Option<(Arc<Shared>, u64)>, EventError> {
        let mut events = self.events();
        let event = events.get(id)?;
        let pending = event.recorded && !event.shared.reached(event.count);
        Ok(pending.then(|| (Arc::clone(&event.shared), event.count)))
    }

    /// Milliseconds between two records. Waits for the default stream and for both records.
    ///
    /// # Errors
    /// In this order: a deferred error of the default stream, [`EventError::InvalidId`], [`EventError::NoTiming`],
    /// [`EventError::NotRecorded`], [`EventError::NotCompleted`], [`EventError::Order`].
    pub fn elapsed_ms(&self, start: u32, end: u32) -> Result<f64, EventError> {
        Stream::default_stream().synchronize()?;
        let marks = {
            let mut events = self.events();
            let mut mark = |id| events.get(id).map(|e| (e.timing, e.recorded, Arc::clone(&e.shared), e.count));
            [mark(start)?, mark(end)?]
        };
        if marks.iter().any(|(timing, ..)| !timing) {
            return Err(EventError::NoTiming);
        }
        if marks.iter().any(|(_, recorded, ..)| !recorded) {
            return Err(EventError::NotRecorded);
        }
        let [start_ns, end_ns] = marks.map(|(_, _, shared, count)| {
            shared.wait(count);
            shared.lock().time_ns
        });
        if start_ns == 0 || end_ns == 0 {
            return Err(EventError::NotCompleted);
        }
        let elapsed_ns = end_ns.checked_sub(start_ns).ok_or(EventError::Order { end, start })?;
        #[expect(clippy::cast_precision_loss, reason = "104 days of nanoseconds are exact, later ones round")]
        let elapsed_ns = elapsed_ns as f64;
        Ok(elapsed_ns / 1e6)
    }
}

#[cfg(test)]
mod tests;
