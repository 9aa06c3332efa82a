//! From records to packets: which track an event is on, what it is called, and what belongs together.
//!
//! Records come in order of time. Slices on one track must lie inside of each other or apart; what overlaps on one stream,
//! because several threads use it, gets a track of its own with the same name ("lane"). A slice that is open when the trace
//! ends is closed there.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::super::clock::ms;
use super::super::names::{self, NameId};
use super::super::record::{Begin, Changes, Encode, Record, Work};
use super::super::statistics::{self, CopyShape, Kind};
use super::super::tensor;
use super::super::text::{self, Times};
use super::packets::{Annotation, Category, Packets, Track};
use crate::memory::GAUGES;

/// What a trace shows.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Show {
    /// Intervals.
    pub(in super::super) intervals: bool,
    /// Events.
    pub(in super::super) events: bool,
    /// Intervals begin when a command is encoded.
    pub(in super::super) schedule: bool,
    /// Times in messages keep scheduling apart.
    pub(in super::super) kernel_time: bool,
    /// Kernels have signposts.
    pub(in super::super) operations: bool,
}

/// What the text of an event is made from.
#[derive(Debug)]
enum Message {
    /// A kernel's key is that of this run: others may follow with other tensors before the text is made.
    Operation {
        index: usize,
        run: u64,
        key: Option<Box<str>>,
    },
    Copy {
        tensors: Vec<u64>,
        shape: CopyShape,
        id: u64,
    },
}

impl Message {
    fn text(&self, times: Times) -> String {
        match self {
            Self::Operation { index, run, key } => {
                text::operation(statistics::lock().entry(*index), *run, key.as_deref(), times)
            }
            Self::Copy { tensors, shape, .. } => text::copy(tensors, *shape, times),
        }
    }

    /// What an event says: the text and, where that has none, the id.
    fn annotations(&self, times: Times) -> Vec<Annotation> {
        let id = match self {
            Self::Operation { .. } => None,
            Self::Copy { id, .. } => Some(Annotation::Id(*id)),
        };
        [Annotation::Message(self.text(times))].into_iter().chain(id).collect()
    }
}

/// An operation that a thread is in.
#[derive(Debug)]
struct Open {
    kind: Kind,
    stream: u32,
    lane: Option<usize>,
    message: Message,
    called_ns: u64,
    begin_ns: u64,
    flow: u64,
}

/// A command that has not finished.
#[derive(Debug)]
struct Command {
    encode: Encode,
    encoded_ns: u64,
    run_ns: Option<u64>,
    lane: Option<usize>,
    /// Kernels have one.
    message: Option<Message>,
}

/// One track of a stream.
#[derive(Debug)]
struct Lane {
    track: Track,
    /// Slices that are open, and whose they are.
    depth: u32,
    owner: Owner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Thread(u64),
    Command(u64),
}

/// The state between records.
#[derive(Debug)]
pub(super) struct Timeline {
    show: Show,
    packets: Packets,
    lanes: HashMap<u32, Vec<Lane>>,
    open: HashMap<u64, Vec<Open>>,
    commands: HashMap<(u32, u64), Command>,
    gauges: Changes,
    last_flow: u64,
    /// The number of each source text.
    libraries: HashMap<Arc<str>, u64>,
    /// The same by kernel; none for those without.
    libraries_of_kernels: HashMap<NameId, Option<u64>>,
}

/// Names of the counters, in the order of [`Gauges`](crate::memory::Gauges).
const COUNTERS: [&str; GAUGES] = [
    "allocated",
    "driver allocated",
    "peak allocated",
    "small pool",
    "large pool",
    "scalar pool",
    "low watermark",
    "high watermark",
];

impl Timeline {
    pub(super) fn new(show: Show, time_ns: u64) -> Self {
        Self {
            show,
            packets: Packets::new(time_ns),
            lanes: HashMap::new(),
            open: HashMap::new(),
            commands: HashMap::new(),
            gauges: [None; GAUGES],
            last_flow: 0,
            libraries: HashMap::new(),
            libraries_of_kernels: HashMap::new(),
        }
    }

    /// The packets since the last call.
    pub(super) fn take_packets(&mut self, bytes: &mut Vec<u8>) {
        self.packets.take(bytes);
    }

    /// Says which thread is which.
    pub(super) fn name_thread(&mut self, thread: u64, name: &str) {
        self.packets.thread(thread, name);
    }

    /// Notes that `count` records of `thread` were lost.
    pub(super) fn lost(&mut self, time_ns: u64, thread: u64, count: u64) {
        let track = self.packets.thread(thread, "");
        self.packets.instant(time_ns, track, Category::Openmps, "records lost", &[Annotation::Count(count)]);
    }

    pub(super) fn add(&mut self, time_ns: u64, thread: u64, record: Record<'_>) {
        match record {
            Record::Begin(begin) => self.begin(time_ns, thread, &begin),
            Record::End { gauges } => {
                self.end(time_ns, thread);
                self.count(time_ns, gauges);
            }
            Record::Encode(encode, tensors) => self.encode(time_ns, thread, encode, tensors),
            Record::Run { stream, position } => self.run(time_ns, stream, position),
            Record::Done { stream, position, gauges } => {
                self.done(time_ns, stream, position);
                self.count(time_ns, gauges);
            }
            Record::Wait { stream, since_ns } => {
                let track = self.packets.thread(thread, "");
                let stream = Annotation::Stream(stream);
                self.packets.begin(since_ns, track, Category::Host, "synchronize", None, &[stream]);
                self.packets.end(time_ns, track);
            }
        }
    }

    fn begin(&mut self, time_ns: u64, thread: u64, begin: &Begin<'_>) {
        let Begin { kind, stream, name, called_ns, run, copy, tensors } = begin;
        let message = match kind {
            Kind::Copy => Message::Copy { tensors: tensors.to_vec(), shape: *copy, id: statistics::lock().next_copy() },
            _ => operation(*kind, *name, tensors, *run),
        };
        let name = names::get(*name).text;
        let flow = self.flow();
        let host = self.packets.thread(thread, "");
        self.packets.begin(*called_ns, host, Category::Host, &name, Some(flow), &[]);
        let lane = self.show.intervals.then(|| {
            let lane = self.enter(*stream, Owner::Thread(thread));
            let track = self.lanes[stream][lane].track;
            let begin_ns = if self.show.schedule { *called_ns } else { time_ns };
            let annotations = message.annotations(Times::default());
            self.packets.begin(begin_ns, track, Category::interval(*kind), &name, None, &annotations);
            self.packets.terminate(flow);
            lane
        });
        let open = Open { kind: *kind, stream: *stream, lane, message, called_ns: *called_ns, begin_ns: time_ns, flow };
        self.open.entry(thread).or_default().push(open);
    }

    fn end(&mut self, time_ns: u64, thread: u64) {
        // None when the operation began before the trace.
        let Some(open) = self.open.get_mut(&thread).and_then(Vec::pop) else { return };
        if let Some(lane) = open.lane {
            self.leave(open.stream, lane, time_ns);
        }
        if self.show.events {
            let run_ms = ms(time_ns.saturating_sub(open.begin_ns));
            let wait_ms = ms(open.begin_ns.saturating_sub(open.called_ns));
            let on_host = match (&open.kind, &open.message) {
                (Kind::Fallback, _) => true,
                (_, Message::Copy { shape, .. }) => !shape.is_blit,
                _ => false,
            };
            let times =
                if on_host { Times { gpu_ms: 0.0, cpu_ms: run_ms + wait_ms } } else { self.times(run_ms, wait_ms) };
            self.event(time_ns, open.stream, open.kind, &open.message, times, open.flow);
        }
        let host = self.packets.thread(thread, "");
        self.packets.end(time_ns, host);
    }

    fn encode(&mut self, time_ns: u64, thread: u64, encode: Encode, tensors: &[u64]) {
        let is_kernel = encode.work == Work::Dispatch;
        let name = if is_kernel { names::get(encode.label).text } else { work_name(encode.work).into() };
        let flow = command_flow(encode.stream, encode.position);
        let host = self.packets.thread(thread, "");
        self.packets.begin(encode.called_ns, host, Category::Host, &name, Some(flow), &[]);
        self.packets.end(time_ns, host);
        let queue = self.packets.queue(encode.stream);
        self.packets.instant(time_ns, queue, Category::Queue, &name, &[Annotation::Position(encode.position)]);
        self.packets.continue_flow(flow);
        let message =
            (is_kernel && self.show.operations).then(|| operation(Kind::Kernel, encode.label, tensors, encode.run));
        let command = Command { encode, encoded_ns: time_ns, run_ns: None, lane: None, message };
        let place = (encode.stream, encode.position);
        self.commands.insert(place, command);
        if self.show.schedule {
            self.begin_command(time_ns, place);
        }
    }

    fn run(&mut self, time_ns: u64, stream: u32, position: u64) {
        let Some(command) = self.commands.get_mut(&(stream, position)) else { return };
        command.run_ns = Some(time_ns);
        if command.lane.is_none() {
            self.begin_command(time_ns, (stream, position));
        }
    }

    /// Begins the slice of a command on its stream.
    fn begin_command(&mut self, time_ns: u64, place: (u32, u64)) {
        let (stream, position) = place;
        let lane = self.enter(stream, Owner::Command(position));
        let track = self.lanes[&stream][lane].track;
        let Some(command) = self.commands.get_mut(&place) else { return };
        command.lane = Some(lane);
        let flow = command_flow(stream, position);
        let Encode { work, label, grid, group, .. } = command.encode;
        if work == Work::Dispatch {
            let kernel = names::get(label);
            let mut annotations = vec![Annotation::Grid(grid), Annotation::Group(group)];
            annotations.extend(kernel.source.as_ref().map(|source| Annotation::Source(source.to_string())));
            annotations.extend(self.library(label, &kernel));
            let message = self.commands.get(&place).and_then(|command| command.message.as_ref());
            let is_signpost = message.is_some() && self.show.intervals;
            let message = message.as_ref().filter(|_| is_signpost);
            annotations.extend(message.map(|message| Annotation::Message(message.text(Times::default()))));
            let category = if is_signpost { Category::interval(Kind::Kernel) } else { Category::Command };
            self.packets.begin(time_ns, track, category, &kernel.text, None, &annotations);
        } else {
            self.packets.begin(time_ns, track, Category::Command, work_name(work), None, &[]);
        }
        self.packets.terminate(flow);
    }

    /// The number of a kernel's source and, for the first of its kernels, the text: once for equal texts.
    fn library(&mut self, label: NameId, kernel: &names::Name) -> Vec<Annotation> {
        if let Some(number) = self.libraries_of_kernels.get(&label) {
            return number.map(Annotation::Library).into_iter().collect();
        }
        let text = kernel.text_of_source.as_ref().and_then(Weak::upgrade);
        let next = self.libraries.len() as u64 + 1;
        let number = text.as_ref().map(|text| *self.libraries.entry(Arc::clone(text)).or_insert(next));
        self.libraries_of_kernels.insert(label, number);
        let text = text.filter(|_| number == Some(next)).map(|text| Annotation::SourceText(text.to_string()));
        number.map(Annotation::Library).into_iter().chain(text).collect()
    }

    fn done(&mut self, time_ns: u64, stream: u32, position: u64) {
        let Some(command) = self.commands.remove(&(stream, position)) else { return };
        if let Some(lane) = command.lane {
            self.leave(stream, lane, time_ns);
        }
        if let (true, Some(message)) = (self.show.events, &command.message) {
            let run_ns = command.run_ns.unwrap_or(command.encoded_ns);
            let times = self.times(ms(time_ns.saturating_sub(run_ns)), ms(run_ns.saturating_sub(command.encoded_ns)));
            self.event(time_ns, stream, Kind::Kernel, message, times, command_flow(stream, position));
        }
    }

    fn times(&self, gpu_ms: f64, cpu_ms: f64) -> Times {
        if self.show.kernel_time { Times { gpu_ms, cpu_ms } } else { Times { gpu_ms: gpu_ms + cpu_ms, cpu_ms: 0.0 } }
    }

    fn event(&mut self, time_ns: u64, stream: u32, kind: Kind, message: &Message, times: Times, flow: u64) {
        let track = self.first_lane(stream);
        let annotations = message.annotations(times);
        let name = match message {
            Message::Operation { index, .. } => names::get(statistics::lock().entry(*index).name).text,
            Message::Copy { .. } => "copy".into(),
        };
        self.packets.instant(time_ns, track, Category::event(kind), &name, &annotations);
        if !self.show.intervals {
            self.packets.terminate(flow);
        }
    }

    /// The track of a stream that is there first.
    fn first_lane(&mut self, stream: u32) -> Track {
        let lanes = self.lanes.entry(stream).or_default();
        if let Some(lane) = lanes.first() {
            return lane.track;
        }
        let track = self.packets.stream(stream);
        lanes.push(Lane { track, depth: 0, owner: Owner::Command(0) });
        track
    }

    /// Opens a slice of `owner` on a track of `stream`: inside of its own, else where nothing is open.
    fn enter(&mut self, stream: u32, owner: Owner) -> usize {
        let lanes = self.lanes.entry(stream).or_default();
        let own = lanes.iter().position(|lane| lane.depth > 0 && lane.owner == owner);
        let found = own.or_else(|| lanes.iter().position(|lane| lane.depth == 0));
        let index = found.unwrap_or_else(|| {
            lanes.push(Lane { track: self.packets.stream(stream), depth: 0, owner });
            lanes.len() - 1
        });
        lanes[index].depth += 1;
        lanes[index].owner = owner;
        index
    }

    fn leave(&mut self, stream: u32, lane: usize, time_ns: u64) {
        let lane = &mut self.lanes.get_mut(&stream).expect("slices are open on known streams")[lane];
        lane.depth -= 1;
        self.packets.end(time_ns, lane.track);
    }

    /// Writes the counters that have changed. A limit that is not there has none.
    pub(super) fn count(&mut self, time_ns: u64, gauges: Changes) {
        for (index, value) in gauges.into_iter().enumerate() {
            if let (Some(value), true) = (value.filter(|value| *value != u64::MAX), value != self.gauges[index]) {
                self.packets.counter(time_ns, COUNTERS[index], value);
                self.gauges[index] = Some(value);
            }
        }
    }

    /// Closes what is open.
    pub(super) fn close(&mut self, time_ns: u64) {
        let mut threads: Vec<u64> = self.open.keys().copied().collect();
        threads.sort_unstable();
        for thread in threads {
            let count = self.open.get(&thread).map_or(0, Vec::len);
            (0..count).for_each(|_| self.end(time_ns, thread));
        }
        let mut places: Vec<_> = self.commands.keys().copied().collect();
        places.sort_unstable();
        for place in places {
            if let Some(lane) = self.commands.remove(&place).and_then(|command| command.lane) {
                self.leave(place.0, lane, time_ns);
            }
        }
    }

    fn flow(&mut self) -> u64 {
        self.last_flow += 1;
        self.last_flow
    }
}

/// Counts a run, unless the log has, and keeps what its text is made from.
fn operation(kind: Kind, name: NameId, tensors: &[u64], run: Option<(usize, u64)>) -> Message {
    let (index, run) = run.unwrap_or_else(|| {
        let mut statistics = statistics::lock();
        let index = statistics.begin(kind, name, tensors);
        (index, statistics.entry(index).runs)
    });
    let has_key = kind == Kind::Kernel && !tensors.is_empty();
    let key = has_key.then(|| tensor::key(&names::get(name).text, tensors).into());
    Message::Operation { index, run, key }
}

/// The flow of a command. Flows of operations are counted from 1, so both never meet.
fn command_flow(stream: u32, position: u64) -> u64 {
    1 << 63 | u64::from(stream) << 48 | position & ((1 << 48) - 1)
}

fn work_name(work: Work) -> &'static str {
    match work {
        Work::Dispatch => "dispatch",
        Work::Host => "host",
        Work::Copy => "copy",
        Work::Signal => "signal event",
        Work::Wait => "wait for event",
    }
}
