//! Traces: a thread of their own turns what the program's threads note into a file that Perfetto reads.
//!
//! The file grows every [`TRACE_WRITE_INTERVAL`], by whole packets: whatever ends the process, the trace up to that moment can
//! be read. A file that cannot be written is told about once, and the program goes on without a trace. A forked child has a
//! file of its own.
//!
//! The messages are those of `openmps_trace::perfetto`, which also reads such files. Left out: compression (`gzip` and `zstd` work
//! on the file) and everything of Perfetto that a single process does not need.

mod file;
mod packets;
mod timeline;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{mem, path};

use file::TraceFile;
pub(super) use timeline::Show;
use timeline::Timeline;

use super::clock::now_ns;
use super::record::{self, Record, ThreadLog};
use crate::limits::{TRACE_BUFFER_WORDS_MAX, TRACE_SPARE_BUFFERS_MAX, TRACE_WRITE_INTERVAL};
use crate::memory;

/// A running trace.
struct Session {
    stop: Arc<Stop>,
    writer: JoinHandle<()>,
}

/// Tells the writer to finish.
#[derive(Default)]
struct Stop {
    is_asked: Mutex<bool>,
    asked: Condvar,
}

impl Stop {
    fn ask(&self) {
        *self.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.asked.notify_all();
    }

    /// Waits for a while; whether the writer shall finish.
    fn wait(&self) -> bool {
        let is_asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.asked.wait_timeout_while(is_asked, TRACE_WRITE_INTERVAL, |is_asked| !*is_asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

static SESSION: Mutex<Option<Session>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts writing to a new file in `folder`, unless a trace is being written.
pub(super) fn start(folder: &Path, show: Show) {
    let mut session = lock();
    if session.is_some() {
        return;
    }
    record::forget_gauges();
    let stop = Arc::new(Stop::default());
    let its_stop = Arc::clone(&stop);
    // A folder that is relative is so to where the program was when the trace began.
    let folder = path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let its_folder = folder.clone();
    let writer = thread::Builder::new().name("mps trace".into()).spawn(move || write(&its_folder, show, &its_stop));
    match writer {
        Ok(writer) => *session = Some(Session { stop, writer }),
        Err(error) => give_up(&folder, &error),
    }
}

/// Writes what is left and closes the file, if a trace is being written.
pub(super) fn stop() {
    let Some(Session { stop, writer }) = lock().take() else { return };
    stop.ask();
    // A panic of the writer was printed; the file is what it was.
    let _ = writer.join();
    record::discard();
}

fn say(text: &str) {
    // Nowhere is left to say that standard error is closed.
    let _ = writeln!(io::stderr(), "openmps: {text}");
}

fn give_up(path: &Path, error: &io::Error) {
    say(&format!("no trace can be written to {}: {error}", path.display()));
    super::trace_failed();
}

/// The writer's thread.
fn write(folder: &Path, show: Show, stop: &Stop) {
    super::exit::block_file_size_signal();
    let mut file = match TraceFile::create(folder) {
        Ok(file) => file,
        Err((path, error)) => return give_up(&path, &error),
    };
    say(&format!("writing a trace to {}", file.path.display()));
    let mut writer =
        Writer { timeline: Timeline::new(show, now_ns()), late: Vec::new(), bytes: Vec::new(), spare: Vec::new() };
    loop {
        let is_last = stop.wait();
        writer.gather(if is_last { u64::MAX } else { now_ns() });
        if is_last {
            writer.timeline.close(now_ns());
        }
        writer.timeline.take_packets(&mut writer.bytes);
        if let Err(error) = file.append(&writer.bytes) {
            return give_up(&file.path, &error);
        }
        writer.bytes.clear();
        if is_last {
            return;
        }
    }
}

struct Writer {
    timeline: Timeline,
    /// What was noted while the last round gathered: it may come before something that other threads note later.
    late: Vec<(Arc<ThreadLog>, Vec<u64>)>,
    bytes: Vec<u8>,
    /// Memory for threads to write to: pages that are there already cost them no faults.
    spare: Vec<Vec<u64>>,
}

impl Writer {
    /// Adds all records up to `until_ns` to the timeline, in order of time. What is noted before that moment is in the
    /// buffers by then, so nothing earlier can appear afterwards.
    fn gather(&mut self, until_ns: u64) {
        let mut batches = mem::take(&mut self.late);
        for log in record::logs() {
            let mut words = self.spare.pop().unwrap_or_default();
            let lost = log.take(&mut words);
            if lost > 0 {
                self.timeline.name_thread(log.thread, &log.name);
                self.timeline.lost(now_ns(), log.thread, lost);
            }
            if words.is_empty() {
                self.keep(words);
            } else {
                batches.push((log, words));
            }
        }
        for (log, _) in &batches {
            self.timeline.name_thread(log.thread, &log.name);
        }
        let mut all = Vec::new();
        for (log, words) in &batches {
            all.extend(Record::all(words).map(|(time_ns, record)| (time_ns, log.thread, record)));
        }
        all.sort_by_key(|(time_ns, ..)| *time_ns);
        let due = all.partition_point(|(time_ns, ..)| *time_ns <= until_ns);
        for (time_ns, thread, record) in all.drain(..due) {
            self.timeline.add(time_ns, thread, record);
        }
        drop(all);
        for (log, words) in batches {
            let rest = record::after(&words, until_ns);
            if !rest.is_empty() {
                self.late.push((log, rest.to_vec()));
            }
            self.keep(words);
        }
        if let Some(allocator) = memory::existing_allocator() {
            self.timeline.count(now_ns(), allocator.gauges().words().map(Some));
        }
    }
}

impl Writer {
    /// Keeps the memory of `words` for later, unless it is more than threads need as a rule.
    fn keep(&mut self, mut words: Vec<u64>) {
        if self.spare.len() < TRACE_SPARE_BUFFERS_MAX && words.capacity() <= TRACE_BUFFER_WORDS_MAX / 2 {
            words.clear();
            self.spare.push(words);
        }
    }
}

/// The session's lock, held over a fork.
pub(super) struct SessionGuard(MutexGuard<'static, Option<Session>>);

pub(super) fn lock_for_fork() -> SessionGuard {
    SessionGuard(lock())
}

impl SessionGuard {
    /// The file and its writer are the parent's.
    pub(super) fn reset_after_fork(&mut self) {
        mem::forget(self.0.take());
    }
}

/// Where traces go: `OPENMPS_TRACE_DIR`, else the working folder.
pub(super) fn folder(setting: Option<&PathBuf>) -> PathBuf {
    setting.cloned().unwrap_or_else(|| PathBuf::from("."))
}
