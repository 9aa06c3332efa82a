//! Operations as they happen: operators that the plug-in executes, and commands of streams.
//!
//! Each begins and ends on the thread that executes it. Who calls looks at [`flags`] first: one relaxed load when nothing is
//! profiled.

use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};

use super::clock::{ms, now_ns};
use super::launch_tensors::LaunchTensors;
use super::names::{self, NameId};
use super::options::{LogOptions, Masks, SignpostTypes};
use super::record::{self, Begin, Encode, Work};
use super::statistics::{self, CopyShape, Kind};
use super::text::{self, Times};
use super::{flag, flags, masks, sees_commands, tensor};
use crate::memory::{self, Gauges};
use crate::observe::{self, HostOp};

thread_local! {
    /// Start and end of the thread's newest wait for a stream.
    static LAST_WAIT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// An operation that the calling thread begins.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// What it is.
    pub kind: Kind,
    /// The operator's name.
    pub name: NameId,
    /// The stream in whose order it runs.
    pub stream: u32,
    /// What is copied how; for other kinds without meaning.
    pub copy: CopyShape,
    /// Its tensors as [`super::tensor_words`] describes them.
    pub tensors: &'a [u64],
}

/// What [`begin`] hands to [`end`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Running {
    /// When it began, on the profiler's clock.
    pub begin_ns: u64,
    /// When the program called for it.
    pub called_ns: u64,
    /// Where it is counted and which run it is, if the log counts.
    pub run: Option<(usize, u64)>,
    /// Whether the trace has it.
    pub is_recorded: bool,
    /// When it began, on the clock of captures.
    pub observed_ns: u64,
}

/// The bits of `log` that ask for lines about `kind`, and for statistics.
fn log_bits(kind: Kind) -> (LogOptions, LogOptions) {
    match kind {
        Kind::Graph | Kind::Kernel => (LogOptions::OPERATION_INFO, LogOptions::OPERATION_STATS),
        Kind::Copy => (LogOptions::COPY_INFO, LogOptions::COPY_STATS),
        Kind::Fallback => (LogOptions::CPU_FALLBACK_INFO, LogOptions::CPU_FALLBACK_STATS),
    }
}

fn signpost(kind: Kind) -> SignpostTypes {
    match kind {
        Kind::Graph | Kind::Kernel => SignpostTypes::RUN_OPERATION,
        Kind::Copy => SignpostTypes::BLIT_COPY,
        Kind::Fallback => SignpostTypes::CPU_FALLBACK,
    }
}

fn is_logged(masks: Masks, kind: Kind) -> bool {
    let (info, stats) = log_bits(kind);
    masks.log.contains(info | stats)
}

/// Whether the log has a line about `kind` at its begin, or at its end.
fn has_line(masks: Masks, kind: Kind, at_end: bool) -> bool {
    let with_times = masks.log.contains(LogOptions::INCLUDE_GPU_TIME | LogOptions::INCLUDE_KERNEL_TIME);
    masks.log.contains(log_bits(kind).0) && with_times == at_end
}

fn print(line: &str) {
    // Nowhere is left to say that standard error is closed.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Counts a run and says so, if the log is asked to.
fn log_begin(masks: Masks, kind: Kind, name: NameId, copy: CopyShape, tensors: &[u64]) -> Option<(usize, u64)> {
    if !is_logged(masks, kind) {
        return None;
    }
    if kind == Kind::Copy {
        // What does not go through a command buffer is not told about before it is done.
        if has_line(masks, kind, false) && (copy.is_blit || copy.is_blocking) {
            print(&text::copy(tensors, copy, Times::default()));
        }
        return None;
    }
    let mut statistics = statistics::lock();
    let index = statistics.begin(kind, name, tensors);
    let entry = statistics.entry(index);
    let run = entry.runs;
    if has_line(masks, kind, false) {
        print(&text::operation(entry, run, None, Times::default()));
    }
    Some((index, run))
}

/// Begins an operation of the calling thread; [`end`] must follow on the same thread.
pub fn begin(operation: &Operation<'_>) -> Running {
    let Operation { kind, name, stream, copy, tensors } = *operation;
    let masks = masks();
    let begin_ns = now_ns();
    let (since_ns, waited_ns) = LAST_WAIT.replace((0, 0));
    // A wait that ended long ago belongs to something else.
    let called_ns = if begin_ns.saturating_sub(waited_ns) < WAIT_BELONGS_NS { since_ns } else { begin_ns };
    let run = log_begin(masks, kind, name, copy, tensors);
    let is_recorded = flags() & flag::TRACE != 0 && masks.signposts.contains(signpost(kind));
    if is_recorded {
        record::begin(begin_ns, &Begin { kind, stream, name, called_ns, run, copy, tensors });
    }
    let observed_ns = if flags() & flag::CAPTURE != 0 { observe::now_ns() } else { 0 };
    Running { begin_ns, called_ns, run, is_recorded, observed_ns }
}

/// Between the end of a wait and the begin of the operation that waited lies no more than this.
const WAIT_BELONGS_NS: u64 = 20_000;

/// Ends an operation.
pub fn end(operation: &Operation<'_>, running: Running) {
    let Operation { kind, copy, tensors, .. } = *operation;
    let Running { begin_ns, called_ns, run, is_recorded, observed_ns } = running;
    let masks = masks();
    let end_ns = now_ns();
    if is_logged(masks, kind) {
        let (run_ms, wait_ms) = (ms(end_ns.saturating_sub(begin_ns)), ms(begin_ns.saturating_sub(called_ns)));
        let is_on_host = kind == Kind::Fallback || kind == Kind::Copy && !copy.is_blit;
        let (gpu_ms, cpu_ms) = if is_on_host { (0.0, run_ms + wait_ms) } else { (run_ms, wait_ms) };
        if kind == Kind::Copy {
            statistics::lock().end_copy(tensors, copy, gpu_ms, cpu_ms);
            if has_line(masks, kind, true) {
                print(&text::copy(tensors, copy, times(masks, gpu_ms, cpu_ms)));
            }
        } else if let Some(run) = run {
            log_end(masks, kind, run, gpu_ms, cpu_ms);
        }
    }
    if is_recorded && flags() & flag::TRACE != 0 {
        record::end(end_ns, gauges());
    }
    if flags() & flag::CAPTURE != 0 {
        tell_observers(operation, observed_ns);
    }
}

/// Tells a capture of an operation that has ended.
fn tell_observers(operation: &Operation<'_>, started_ns: u64) {
    let name = names::get(operation.name).text;
    // Names of fallbacks have their namespace in front.
    let name = if name.contains("::") { name.to_string() } else { format!("aten::{name}") };
    let mut tensors = String::new();
    for one in tensor::tensors(operation.tensors) {
        one.spell(&mut tensors);
        tensors.push('\n');
    }
    observe::host_op(&HostOp { name: &name, tensors: &tensors, started_ns, ended_ns: observe::now_ns() });
}

fn log_end(masks: Masks, kind: Kind, (index, run): (usize, u64), gpu_ms: f64, cpu_ms: f64) {
    let mut statistics = statistics::lock();
    statistics.end(index, gpu_ms, cpu_ms);
    if has_line(masks, kind, true) {
        print(&text::operation(statistics.entry(index), run, None, times(masks, gpu_ms, cpu_ms)));
    }
}

/// Times as a text has them: scheduling is part of the GPU's time unless it is asked for.
fn times(masks: Masks, gpu_ms: f64, cpu_ms: f64) -> Times {
    if gpu_ms > 0.0 && !masks.log.contains(LogOptions::INCLUDE_KERNEL_TIME) {
        Times { gpu_ms: gpu_ms + cpu_ms, cpu_ms: 0.0 }
    } else {
        Times { gpu_ms, cpu_ms }
    }
}

fn gauges() -> Gauges {
    memory::existing_allocator().map_or_else(Gauges::default, memory::Allocator::gauges)
}

/// What a command carries through its stream while something is profiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    run: Option<(usize, u64)>,
    encoded_ns: u64,
}

/// What is known of a command that enters a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoding {
    pub(crate) work: Work,
    /// The pipeline, for kernels.
    pub(crate) label: NameId,
    pub(crate) grid: [u32; 3],
    pub(crate) group: [u32; 3],
}

thread_local! {
    /// What the kernel that the thread is about to encode is told about.
    static LAUNCH: Cell<(u64, Option<(usize, u64)>)> = const { Cell::new((0, None)) };
    /// Its tensors.
    static LAUNCH_TENSORS: RefCell<LaunchTensors> = RefCell::default();
}

/// A kernel is about to be encoded by this thread: the log counts it, with the tensors that the caller knows.
pub(crate) fn launch(label: NameId, tensors: LaunchTensors) {
    let called_ns = now_ns();
    let copy = CopyShape { bytes: 0, is_blocking: false, is_blit: false };
    LAUNCH.set((called_ns, log_begin(masks(), Kind::Kernel, label, copy, tensors.words())));
    // A thread that is ending has no place for them any more; what it still encodes is traced without.
    let _ = LAUNCH_TENSORS.try_with(|kept| kept.replace(tensors));
}

/// A command enters `stream`. Called with the stream's lock held, before anybody can run the command.
pub(crate) fn encoded(stream: u32, position: u64, encoding: &Encoding) -> Ticket {
    let encoded_ns = now_ns();
    let (called_ns, run) = LAUNCH.replace((0, None));
    if flags() & flag::TRACE != 0 {
        let Encoding { work, label, grid, group } = *encoding;
        let called_ns = if called_ns == 0 { encoded_ns } else { called_ns };
        let encode = Encode { stream, position, work, called_ns, label, run, grid, group };
        let tensors = LAUNCH_TENSORS.try_with(RefCell::take).unwrap_or_default();
        record::encode(encoded_ns, &encode, tensors.words());
    }
    Ticket { run, encoded_ns }
}

/// The command at `position` starts, directly behind one that ended at `previous_ns` if there is such; returns when. One look at
/// the clock is enough for both moments.
pub(crate) fn started(stream: u32, position: u64, previous_ns: Option<u64>) -> u64 {
    let started_ns = previous_ns.unwrap_or_else(now_ns);
    if flags() & flag::TRACE != 0 {
        record::run(started_ns, stream, position);
    }
    started_ns
}

/// The command at `position` has run since `started_ns`; returns until when.
pub(crate) fn finished(stream: u32, position: u64, ticket: Ticket, started_ns: u64) -> u64 {
    let end_ns = now_ns();
    if let Some(run) = ticket.run {
        let gpu_ms = ms(end_ns.saturating_sub(started_ns));
        log_end(masks(), Kind::Kernel, run, gpu_ms, ms(started_ns.saturating_sub(ticket.encoded_ns)));
    }
    if flags() & flag::TRACE != 0 {
        record::done(end_ns, stream, position, gauges());
    }
    end_ns
}

/// Waits with `wait` for `stream`, and notes for how long.
pub(crate) fn waiting(stream: u32, wait: impl FnOnce()) {
    if !sees_commands() {
        return wait();
    }
    let since_ns = now_ns();
    wait();
    let until_ns = now_ns();
    LAST_WAIT.set((since_ns, until_ns));
    if flags() & flag::TRACE != 0 {
        record::wait(until_ns, stream, since_ns);
    }
}
