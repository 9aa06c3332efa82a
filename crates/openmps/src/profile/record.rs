//! What threads note while the program runs: numbers in a buffer of their own, without formatting and without a shared lock.
//!
//! The lock of a buffer is its thread's, except for the moment in which the writer takes what has gathered. A buffer that the
//! writer cannot empty in time stops at [`BUFFER_WORDS_MAX`]; what is lost is counted.
//!
//! A record is a row of words: kind and number of words, time, then what its kind has (see [`Record::decode`]).

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, mem, process, thread};

use super::names::NameId;
use super::statistics::{CopyShape, Kind};
use crate::limits::TRACE_BUFFER_WORDS_MAX;
use crate::memory::{GAUGES, Gauges};

/// A thread's buffer.
#[derive(Debug)]
pub(super) struct ThreadLog {
    /// The system's number of the thread.
    pub(super) thread: u64,
    pub(super) name: String,
    words: Mutex<Vec<u64>>,
    lost: AtomicU64,
}

/// Buffers of all threads that noted something in this process.
static LOGS: Mutex<Vec<Arc<ThreadLog>>> = Mutex::new(Vec::new());
/// Counts forks: a buffer of another epoch belongs to the parent.
static EPOCH: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static LOG: RefCell<Option<(u32, Arc<ThreadLog>)>> = const { RefCell::new(None) };
}

/// One record, as the writer reads it.
#[derive(Debug)]
pub(super) enum Record<'a> {
    /// An operation of ATen starts on the recording thread.
    Begin(Begin<'a>),
    /// The recording thread's newest operation ends.
    End { gauges: Changes },
    /// A command enters a stream, with the tensors of a kernel.
    Encode(Encode, &'a [u64]),
    /// The command at `position` starts.
    Run { stream: u32, position: u64 },
    /// The command at `position` is done.
    Done { stream: u32, position: u64, gauges: Changes },
    /// The recording thread waited since `since_ns`.
    Wait { stream: u32, since_ns: u64 },
}

/// The gauges that have changed, by place.
pub(super) type Changes = [Option<u64>; GAUGES];

/// The start of an operation.
#[derive(Debug)]
pub(super) struct Begin<'a> {
    pub(super) kind: Kind,
    pub(super) stream: u32,
    pub(super) name: NameId,
    /// When the operator was called; it may have waited for its stream since.
    pub(super) called_ns: u64,
    /// Where its statistics are and which run this is, if the log has counted it.
    pub(super) run: Option<(usize, u64)>,
    pub(super) copy: CopyShape,
    pub(super) tensors: &'a [u64],
}

/// A command that enters a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encode {
    pub(super) stream: u32,
    pub(super) position: u64,
    pub(super) work: Work,
    /// When the host began to encode it.
    pub(super) called_ns: u64,
    /// The pipeline, for kernels.
    pub(super) label: NameId,
    pub(super) run: Option<(usize, u64)>,
    /// Threads of the grid and of a threadgroup, for kernels; bytes first, for copies.
    pub(super) grid: [u32; 3],
    pub(super) group: [u32; 3],
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Runs a kernel.
    Dispatch,
    /// Calls a function of the host.
    Host,
    /// Copies bytes.
    Copy,
    /// Signals an event.
    Signal,
    /// Waits for an event.
    Wait,
}

const BEGIN: u64 = 1;
const END: u64 = 2;
const ENCODE: u64 = 3;
const RUN: u64 = 4;
const DONE: u64 = 5;
const WAIT: u64 = 6;
const BEGIN_PLAIN: u64 = 7;

const KINDS: [Kind; 4] = [Kind::Graph, Kind::Kernel, Kind::Copy, Kind::Fallback];
const WORKS: [Work; 5] = [Work::Dispatch, Work::Host, Work::Copy, Work::Signal, Work::Wait];
const NO_RUN: u64 = u64::MAX;
const IS_BLOCKING: u64 = 1 << 8;
const IS_BLIT: u64 = 1 << 9;

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn halves(word: u64) -> (u32, u32) {
    let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).expect("32 bits");
    (half(word), half(word >> 32))
}

fn run_words(run: Option<(usize, u64)>) -> [u64; 2] {
    run.map_or([NO_RUN, 0], |(index, run)| [index as u64, run])
}

fn run_of(index: u64, run: u64) -> Option<(usize, u64)> {
    (index != NO_RUN).then(|| (usize::try_from(index).expect("an index of this process"), run))
}

pub(super) fn begin(time_ns: u64, begin: &Begin<'_>) {
    let Begin { kind, stream, name, called_ns, run, copy, tensors } = begin;
    let flags = *kind as u64 | if copy.is_blocking { IS_BLOCKING } else { 0 } | if copy.is_blit { IS_BLIT } else { 0 };
    let target = pair(*stream, name.0);
    if run.is_none() && *kind != Kind::Copy {
        // Most operations, by fewer words.
        push(BEGIN_PLAIN, time_ns, &[target, *called_ns, flags], tensors);
        return;
    }
    let [index, number] = run_words(*run);
    push(BEGIN, time_ns, &[target, *called_ns, flags, index, number, copy.bytes], tensors);
}

pub(super) fn end(time_ns: u64, gauges: Gauges) {
    with_changes(gauges, |changes| push(END, time_ns, &[], changes));
}

/// The gauges that were noted last, by any thread.
static NOTED: [AtomicU64; GAUGES] = [const { AtomicU64::new(0) }; GAUGES];

/// Hands on the gauges that are others than those that were noted last: a word of bits that tells which, then their words, or
/// nothing. Threads that note at the same time may both note them, or an older value last, which the writer's own look at the
/// gauges mends.
fn with_changes(gauges: Gauges, note: impl FnOnce(&[u64])) {
    let mut changes = [0; 1 + GAUGES];
    let mut count = 1;
    for (place, word) in gauges.words().into_iter().enumerate() {
        if NOTED[place].load(Ordering::Relaxed) != word {
            NOTED[place].store(word, Ordering::Relaxed);
            changes[0] |= 1 << place;
            changes[count] = word;
            count += 1;
        }
    }
    note(if count == 1 { &[] } else { &changes[..count] });
}

/// What [`with_changes`] handed on.
fn changes(words: &[u64]) -> Changes {
    let Some((bits, mut words)) = words.split_first() else { return [None; GAUGES] };
    std::array::from_fn(|place| if bits >> place & 1 == 0 { None } else { words.split_off_first().copied() })
}

/// A new trace knows nothing of what was noted before.
pub(super) fn forget_gauges() {
    NOTED.iter().for_each(|place| place.store(0, Ordering::Relaxed));
}

pub(super) fn encode(time_ns: u64, encode: &Encode, tensors: &[u64]) {
    let Encode { stream, position, work, called_ns, label, run, grid, group } = *encode;
    let [index, number] = run_words(run);
    let sizes = [pair(grid[0], grid[1]), pair(grid[2], group[0]), pair(group[1], group[2])];
    let [a, b, c] = sizes;
    push(ENCODE, time_ns, &[pair(stream, label.0), position, called_ns, index, number, work as u64, a, b, c], tensors);
}

pub(super) fn run(time_ns: u64, stream: u32, position: u64) {
    push(RUN, time_ns, &[u64::from(stream), position], &[]);
}

pub(super) fn done(time_ns: u64, stream: u32, position: u64, gauges: Gauges) {
    with_changes(gauges, |changes| push(DONE, time_ns, &[u64::from(stream), position], changes));
}

pub(super) fn wait(time_ns: u64, stream: u32, since_ns: u64) {
    push(WAIT, time_ns, &[u64::from(stream), since_ns], &[]);
}

impl<'a> Record<'a> {
    /// Time and content of the first record in `words`, and the words behind it.
    fn decode(words: &'a [u64]) -> Option<(u64, Self, &'a [u64])> {
        let (&head, rest) = words.split_first()?;
        let count = usize::try_from(head >> 8).ok()?;
        let (body, rest) = rest.split_at_checked(count)?;
        let (&time_ns, body) = body.split_first()?;
        let record = match (head & 0xff, body) {
            (BEGIN, [target, called_ns, flags, index, number, bytes, tensors @ ..]) => {
                Self::begin([*target, *called_ns, *flags], run_of(*index, *number), *bytes, tensors)?
            }
            (BEGIN_PLAIN, [target, called_ns, flags, tensors @ ..]) => {
                Self::begin([*target, *called_ns, *flags], None, 0, tensors)?
            }
            (END, gauges) => Self::End { gauges: changes(gauges) },
            (ENCODE, [target, position, called_ns, index, number, work, a, b, c, tensors @ ..]) => {
                let (stream, label) = halves(*target);
                let [(x, y), (z, gx), (gy, gz)] = [a, b, c].map(|&word| halves(word));
                let encode = Encode {
                    stream,
                    position: *position,
                    work: *WORKS.get(usize::try_from(*work).ok()?)?,
                    called_ns: *called_ns,
                    label: NameId(label),
                    run: run_of(*index, *number),
                    grid: [x, y, z],
                    group: [gx, gy, gz],
                };
                Self::Encode(encode, tensors)
            }
            (RUN, [stream, position]) => Self::Run { stream: halves(*stream).0, position: *position },
            (DONE, [stream, position, gauges @ ..]) => {
                Self::Done { stream: halves(*stream).0, position: *position, gauges: changes(gauges) }
            }
            (WAIT, [stream, since_ns]) => Self::Wait { stream: halves(*stream).0, since_ns: *since_ns },
            _ => return None,
        };
        Some((time_ns, record, rest))
    }

    fn begin(
        [target, called_ns, flags]: [u64; 3],
        run: Option<(usize, u64)>,
        bytes: u64,
        tensors: &'a [u64],
    ) -> Option<Self> {
        let (stream, name) = halves(target);
        let (is_blocking, is_blit) = (flags & IS_BLOCKING != 0, flags & IS_BLIT != 0);
        Some(Self::Begin(Begin {
            kind: *KINDS.get(usize::try_from(flags & 0xff).ok()?)?,
            stream,
            name: NameId(name),
            called_ns,
            run,
            copy: CopyShape { bytes, is_blocking, is_blit },
            tensors,
        }))
    }

    /// All records in `words`, with their times.
    pub(super) fn all(mut words: &'a [u64]) -> impl Iterator<Item = (u64, Self)> {
        std::iter::from_fn(move || {
            let (time_ns, record, rest) = Self::decode(words)?;
            words = rest;
            Some((time_ns, record))
        })
    }
}

/// The part of `words` from the first record behind `until_ns` on.
pub(super) fn after(mut words: &[u64], until_ns: u64) -> &[u64] {
    while let Some((time_ns, _, rest)) = Record::decode(words) {
        if time_ns > until_ns {
            break;
        }
        words = rest;
    }
    words
}

fn push(kind: u64, time_ns: u64, head: &[u64], tail: &[u64]) {
    let epoch = EPOCH.load(Ordering::Relaxed);
    // A thread that is ending has no buffer any more; what it still does is not traced.
    let _ = LOG.try_with(|log| {
        let Ok(mut log) = log.try_borrow_mut() else { return };
        let fresh = log.as_ref().is_none_or(|(its_epoch, _)| *its_epoch != epoch);
        if fresh {
            // A parent's buffer may be locked by a thread that does not exist here: it is left alone, not dropped.
            mem::forget(log.replace((epoch, ThreadLog::register())));
            super::write_trace();
        }
        if let Some((_, log)) = &*log {
            log.push(kind, time_ns, head, tail);
        }
    });
}

impl ThreadLog {
    fn register() -> Arc<Self> {
        let log = Arc::new(Self {
            thread: thread_number(),
            name: thread::current().name().map_or_else(String::new, str::to_owned),
            words: Mutex::default(),
            lost: AtomicU64::new(0),
        });
        lock().push(Arc::clone(&log));
        log
    }

    fn push(&self, kind: u64, time_ns: u64, head: &[u64], tail: &[u64]) {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let count = 1 + head.len() + tail.len();
        if words.len() + count >= TRACE_BUFFER_WORDS_MAX {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        words.reserve(count + 1);
        words.extend_from_slice(&[kind | (count as u64) << 8, time_ns]);
        words.extend_from_slice(head);
        words.extend_from_slice(tail);
    }

    /// Moves what has gathered to `words`, which must be empty, and gives `words`'s memory to the thread; returns how many
    /// records were lost since the last time.
    pub(super) fn take(&self, words: &mut Vec<u64>) -> u64 {
        mem::swap(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner), words);
        self.lost.swap(0, Ordering::Relaxed)
    }
}

/// The system's number of the calling thread; the process's where the system does not tell.
fn thread_number() -> u64 {
    let link = fs::read_link("/proc/thread-self");
    let number = link.ok().and_then(|path| path.file_name()?.to_str()?.parse().ok());
    number.unwrap_or_else(|| process::id().into())
}

fn lock() -> MutexGuard<'static, Vec<Arc<ThreadLog>>> {
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The buffers there are. Those of threads that have ended stay until they are empty.
pub(super) fn logs() -> Vec<Arc<ThreadLog>> {
    let mut logs = lock();
    let all = logs.clone();
    // One reference is the list's, one is the copy's: nobody will note anything there.
    logs.retain(|log| Arc::strong_count(log) > 2);
    all
}

/// Empties all buffers: what they hold belongs to a trace that has ended.
pub(super) fn discard() {
    for log in logs() {
        log.take(&mut Vec::new());
    }
}

/// The list's lock, held over a fork.
pub(super) struct LogsGuard(MutexGuard<'static, Vec<Arc<ThreadLog>>>);

pub(super) fn lock_for_fork() -> LogsGuard {
    LogsGuard(lock())
}

impl LogsGuard {
    /// In a child nobody else writes, and what was noted belongs to the parent.
    pub(super) fn reset_after_fork(&mut self) {
        mem::forget(mem::take(&mut *self.0));
        EPOCH.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_went_in() {
        let gauges = Gauges { allocated: 1, reserved: 2, peak: 3, high_watermark: Some(4), ..Gauges::default() };
        begin(
            10,
            &Begin {
                kind: Kind::Copy,
                stream: 3,
                name: NameId(7),
                called_ns: 9,
                run: Some((5, 6)),
                copy: CopyShape { bytes: 64, is_blocking: true, is_blit: false },
                tensors: &[11, 12],
            },
        );
        end(20, gauges);
        encode(
            30,
            &Encode {
                stream: 1,
                position: 2,
                work: Work::Dispatch,
                called_ns: 29,
                label: NameId(8),
                run: None,
                grid: [1, 2, 3],
                group: [4, 5, 6],
            },
            &[13],
        );
        run(40, 1, 2);
        done(50, 1, 2, gauges);
        done(55, 1, 3, Gauges { allocated: 9, ..gauges });
        wait(60, 1, 55);
        let copy = CopyShape { bytes: 0, is_blocking: false, is_blit: false };
        begin(
            70,
            &Begin { kind: Kind::Graph, stream: 0, name: NameId(1), called_ns: 68, run: None, copy, tensors: &[11] },
        );
        let mut words = Vec::new();
        for log in logs() {
            assert_eq!(log.take(&mut words), 0);
        }
        let texts: Vec<String> = Record::all(&words).map(|(time, record)| format!("{time} {record:?}")).collect();
        let none = "[None, None, None, None, None, None, None, None]";
        assert_eq!(
            texts,
            [
                "10 Begin(Begin { kind: Copy, stream: 3, name: NameId(7), called_ns: 9, run: Some((5, 6)), copy: CopyShape \
                 { bytes: 64, is_blocking: true, is_blit: false }, tensors: [11, 12] })"
                    .to_owned(),
                "20 End { gauges: [Some(1), Some(2), Some(3), None, None, None, Some(18446744073709551615), Some(4)] }".to_owned(),
                "30 Encode(Encode { stream: 1, position: 2, work: Dispatch, called_ns: 29, label: NameId(8), run: None, \
                 grid: [1, 2, 3], group: [4, 5, 6] }, [13])"
                    .to_owned(),
                "40 Run { stream: 1, position: 2 }".to_owned(),
                format!("50 Done {{ stream: 1, position: 2, gauges: {none} }}"),
                format!("55 Done {{ stream: 1, position: 3, gauges: {} }}", none.replacen("None", "Some(9)", 1)),
                "60 Wait { stream: 1, since_ns: 55 }".to_owned(),
                "70 Begin(Begin { kind: Graph, stream: 0, name: NameId(1), called_ns: 68, run: None, copy: CopyShape \
                 { bytes: 0, is_blocking: false, is_blit: false }, tensors: [11] })"
                    .to_owned(),
            ]
        );
        assert_eq!(Record::all(&words[..words.len() - 1]).count(), 7, "a record that is cut off is none");
    }

    #[test]
    fn a_full_buffer_loses_and_counts() {
        let log = ThreadLog { thread: 1, name: String::new(), words: Mutex::default(), lost: AtomicU64::new(0) };
        let tensors = vec![0; TRACE_BUFFER_WORDS_MAX / 2];
        for _ in 0..3 {
            log.push(BEGIN, 0, &[0; 6], &tensors);
        }
        assert_eq!(log.take(&mut Vec::new()), 2);
        assert_eq!(log.take(&mut Vec::new()), 0);
    }

    #[test]
    fn buffers_of_ended_threads_are_read_once() {
        thread::spawn(|| wait(1, 0, 0)).join().unwrap();
        let mut records = 0;
        for log in logs() {
            let mut words = Vec::new();
            log.take(&mut words);
            records += Record::all(&words).count();
        }
        assert_eq!(records, 1);
        assert!(logs().is_empty());
    }
}
