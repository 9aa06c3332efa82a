//! Streams: ordered queues of commands that run asynchronously to the thread that encodes them.
//!
//! Stream 0 is the default; 1 to 32 are the pool, handed out in turns. Each has a worker thread that starts with the first
//! command. Commands of one stream run in the order in which they were encoded; streams are ordered among each other by
//! events only. Errors are deferred until someone synchronizes ([`StreamError`]). After `fork` a child's queues are empty and
//! usable: work that had not finished is lost there, as it is on a GPU.
//!
//! Left out: Metal's command buffers. Work starts when it is encoded, so committing early or late makes no difference here.

mod command;
mod error;
pub(crate) mod fork;
mod queue;
mod retained;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub use command::{Command, HostCall};
pub use error::{CODE_INTERNAL, CODE_INVALID_RESOURCE, ERROR_BUFFER_BYTES, ERROR_RECORDS, StreamError};
use queue::Queue;
pub(crate) use queue::spin_until;
pub use retained::Retained;

use crate::limits::STREAM_COMMANDS_MAX;
pub use crate::stream_id::StreamId;

/// Streams in the pool, ids 1 to 32.
pub const POOL_STREAMS: u32 = 32;

/// One queue for each id.
macro_rules! queues {
    ($($id:literal)*) => { [$(Queue::new($id)),*] };
}

static QUEUES: [Queue; 33] = queues![
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
];

/// Whether a pool stream was ever asked for.
static POOL_EXISTS: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CURRENT: Cell<Stream> = const { Cell::new(Stream { id: StreamId(0) }) };
}

/// A stream of the process's device. Streams live as long as the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    id: StreamId,
}

impl Stream {
    /// Stream 0.
    #[must_use]
    pub fn default_stream() -> Self {
        Self { id: StreamId(0) }
    }

    /// The next stream of the pool: 1 to 32 in turns.
    #[must_use]
    pub fn from_pool() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        POOL_EXISTS.store(true, Ordering::Release);
        Self { id: StreamId(NEXT.fetch_add(1, Ordering::Relaxed) % POOL_STREAMS + 1) }
    }

    /// The stream with number `id`; none above 32.
    #[must_use]
    pub fn with_id(id: u32) -> Option<Self> {
        if id > POOL_STREAMS {
            return None;
        }
        if id != 0 {
            POOL_EXISTS.store(true, Ordering::Release);
        }
        Some(Self { id: StreamId(id) })
    }

    /// The calling thread's current stream; the default stream unless the thread chose another.
    #[must_use]
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// Makes this the calling thread's current stream and returns the one before.
    pub fn set_current(self) -> Self {
        CURRENT.replace(self)
    }

    /// Its number.
    #[must_use]
    pub fn id(self) -> StreamId {
        self.id
    }

    fn queue(self) -> &'static Queue {
        &QUEUES[self.id.0 as usize]
    }

    /// Appends `command` and returns its position. Returns at once, unless [`STREAM_COMMANDS_MAX`] commands are waiting
    /// already; the stream's worker runs the command.
    pub fn encode(self, command: Command) -> u64 {
        let position = self.encode_without_limit(command);
        let queue = self.queue();
        if queue.pending() > STREAM_COMMANDS_MAX {
            queue.wait(position - STREAM_COMMANDS_MAX / 2);
        }
        position
    }

    /// As [`encode`](Self::encode), but never waits: for callers that hold a lock.
    pub(crate) fn encode_without_limit(self, command: Command) -> u64 {
        fork::install_handlers();
        self.queue().push(command)
    }

    /// Lets everything encoded so far start. Encoding does that already, so this has nothing to do; it is the place where
    /// PyTorch's `SyncType::COMMIT` arrives.
    pub fn commit(self) {}

    /// The position of the last encoded command; 0 before the first.
    #[must_use]
    pub fn position(self) -> u64 {
        self.queue().position()
    }

    /// Whether the command at `position` and all before it have finished; their effects are visible then.
    #[must_use]
    pub fn reached(self, position: u64) -> bool {
        self.queue().reached(position)
    }

    /// Whether every encoded command has finished: one atomic load.
    #[must_use]
    pub fn is_idle(self) -> bool {
        self.queue().is_idle()
    }

    /// Waits for everything encoded so far and leaves deferred errors in place.
    pub fn wait_idle(self) {
        let queue = self.queue();
        if !queue.is_idle() {
            queue.wait(queue.position());
        }
    }

    /// Waits for everything encoded so far, then reports a deferred error: `SyncType::COMMIT_AND_WAIT`.
    ///
    /// # Errors
    /// The first message of a kernel, else the first failed command since the last report. What is reported is cleared, and
    /// the stream works on.
    pub fn synchronize(self) -> Result<(), StreamError> {
        self.wait_idle();
        self.check()
    }

    /// Reports a deferred error without waiting.
    fn check(self) -> Result<(), StreamError> {
        self.queue().take_error().map_or(Ok(()), Err)
    }

    /// The device address of the stream's `c10::metal::ErrorMessages`, [`ERROR_BUFFER_BYTES`] bytes.
    #[must_use]
    pub fn error_buffer_address(self) -> u64 {
        self.queue().errors.address()
    }
}

/// The number of the calling thread's current stream.
#[must_use]
pub fn current_id() -> StreamId {
    Stream::current().id()
}

/// Every stream that can hold work: the default one and, once it exists, the pool.
fn all() -> impl Iterator<Item = Stream> {
    let last = if POOL_EXISTS.load(Ordering::Acquire) { POOL_STREAMS } else { 0 };
    (0..=last).map(|id| Stream { id: StreamId(id) })
}

/// Waits for every stream and leaves deferred errors in place.
pub fn wait_idle_all() {
    all().for_each(Stream::wait_idle);
}

/// Waits for every stream, then reports the first deferred error in order of stream number.
///
/// # Errors
/// See [`Stream::synchronize`]; errors of later streams stay for their next check.
pub fn synchronize_all() -> Result<(), StreamError> {
    wait_idle_all();
    all().try_for_each(Stream::check)
}

/// Whether any stream has unfinished commands: one atomic load.
#[must_use]
pub fn any_pending() -> bool {
    busy_streams().load(Ordering::Acquire) != 0
}

/// The number of streams that have unfinished commands, for who reads it (with acquire) without a call.
#[must_use]
pub fn busy_streams() -> &'static AtomicU64 {
    queue::busy_streams()
}

#[cfg(test)]
mod tests;
