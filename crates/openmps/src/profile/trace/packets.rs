//! Packets in the order in which they are made: tracks and names are described when they first occur.

use std::collections::HashMap;
use std::{env, mem, process};

use openmps_trace::perfetto::message::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedName, ProcessDescriptor,
    SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE, ThreadDescriptor, TracePacket, TrackDescriptor,
    TrackEvent, UNIT_SIZE_BYTES,
};
use prost::Message as _;

use super::super::clock::{CLOCKS, read_ns};
use super::super::statistics::Kind;

/// What stands before each packet in a file: field 1 of `Trace`, with a length.
const PACKET_KEY: u8 = 1 << 3 | 2;
/// The one sequence of packets in a file.
const SEQUENCE: u32 = 1;

/// A track, by its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Track(u64);

/// The category of an event; signposts have their names on macOS as category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    OperationIntervals,
    CopyIntervals,
    FallbackIntervals,
    OperationEvents,
    CopyEvents,
    FallbackEvents,
    /// A call of the program.
    Host,
    /// What a stream was given.
    Queue,
    /// A command that has no signpost.
    Command,
    /// About the trace itself.
    Openmps,
}

const CATEGORIES: [(Category, &str); 10] = [
    (Category::OperationIntervals, "PyTorchOperationIntervals"),
    (Category::CopyIntervals, "PyTorchCopyIntervals"),
    (Category::FallbackIntervals, "PyTorchCPUFallbackIntervals"),
    (Category::OperationEvents, "PyTorchOperationEvents"),
    (Category::CopyEvents, "PyTorchCopyEvents"),
    (Category::FallbackEvents, "PyTorchCPUFallbacksEvents"),
    (Category::Host, "host"),
    (Category::Queue, "queue"),
    (Category::Command, "command"),
    (Category::Openmps, "openmps"),
];

impl Category {
    pub(super) fn interval(kind: Kind) -> Self {
        match kind {
            Kind::Graph | Kind::Kernel => Self::OperationIntervals,
            Kind::Copy => Self::CopyIntervals,
            Kind::Fallback => Self::FallbackIntervals,
        }
    }

    pub(super) fn event(kind: Kind) -> Self {
        match kind {
            Kind::Graph | Kind::Kernel => Self::OperationEvents,
            Kind::Copy => Self::CopyEvents,
            Kind::Fallback => Self::FallbackEvents,
        }
    }

    fn iid(self) -> u64 {
        let index = CATEGORIES.iter().position(|(category, _)| *category == self);
        index.expect("every category is in the list") as u64 + 1
    }
}

/// What an event says besides its name.
#[derive(Clone, Debug)]
pub(super) enum Annotation {
    Message(String),
    Grid([u32; 3]),
    Group([u32; 3]),
    Source(String),
    Stream(u32),
    Position(u64),
    Count(u64),
    /// The number of a copy, from 1.
    Id(u64),
    /// The number of a source text in this trace, from 1.
    Library(u64),
    /// The text, where its number occurs first.
    SourceText(String),
}

const ANNOTATIONS: [&str; 10] =
    ["message", "grid", "group", "source", "stream", "position", "count", "id", "library", "source_text"];

impl Annotation {
    fn encode(&self) -> DebugAnnotation {
        let text = |iid, text: String| DebugAnnotation {
            name_iid: Some(iid),
            string_value: Some(text),
            ..DebugAnnotation::default()
        };
        let number =
            |iid, value| DebugAnnotation { name_iid: Some(iid), uint_value: Some(value), ..DebugAnnotation::default() };
        let size = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
        match self {
            Self::Message(message) => text(1, message.clone()),
            Self::Grid(grid) => text(2, size(*grid)),
            Self::Group(group) => text(3, size(*group)),
            Self::Source(source) => text(4, source.clone()),
            Self::Stream(stream) => number(5, (*stream).into()),
            Self::Position(position) => number(6, *position),
            Self::Count(count) => number(7, *count),
            Self::Id(id) => number(8, *id),
            Self::Library(library) => number(9, *library),
            Self::SourceText(source) => text(10, source.clone()),
        }
    }
}

/// Packets on their way to the file.
#[derive(Debug)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    /// The newest packet, to which flows may be added. Only one is kept as a message: all of a busy round would be many megabytes.
    newest: Option<TracePacket>,
    names: HashMap<String, u64>,
    threads: HashMap<u64, Track>,
    queues: HashMap<u32, Track>,
    counters: HashMap<&'static str, Track>,
    process: Track,
    last_track: u64,
}

impl Packets {
    pub(super) fn new(time_ns: u64) -> Self {
        // Numbers of tracks should differ from those of other files, which a viewer may show together.
        let first = u64::from(process::id()) << 32 | 1;
        let mut packets = Self {
            bytes: Vec::new(),
            newest: None,
            names: HashMap::new(),
            threads: HashMap::new(),
            queues: HashMap::new(),
            counters: HashMap::new(),
            process: Track(first),
            last_track: first,
        };
        packets.head(time_ns);
        packets
    }

    /// Clocks, the process, and the names that are always there.
    fn head(&mut self, time_ns: u64) {
        let clock = |(clock_id, id)| Clock { clock_id, timestamp: read_ns(id), ..Clock::default() };
        let list = |iid: usize, name: &str| InternedName { iid: iid as u64 + 1, name: name.into() };
        let categories = CATEGORIES.iter().enumerate().map(|(index, (_, name))| list(index, name));
        let annotations = ANNOTATIONS.iter().enumerate().map(|(index, name)| list(index, name));
        let program = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
        self.push(TracePacket {
            timestamp: Some(time_ns),
            first_packet_on_sequence: Some(true),
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            clock_snapshot: Some(ClockSnapshot { clocks: CLOCKS.map(clock).into() }),
            interned_data: Some(InternedData {
                event_categories: categories.collect(),
                event_names: Vec::new(),
                debug_annotation_names: annotations.collect(),
                debug_annotation_string_values: Vec::new(),
            }),
            ..TracePacket::default()
        });
        self.describe(TrackDescriptor {
            uuid: self.process.0,
            process: Some(ProcessDescriptor {
                pid: pid(),
                process_name: program.first().cloned().unwrap_or_default(),
                cmdline: program,
            }),
            ..TrackDescriptor::default()
        });
    }

    /// Moves the packets to the end of `bytes`.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        self.encode_newest();
        if bytes.is_empty() {
            // Both keep their memory.
            mem::swap(bytes, &mut self.bytes);
        } else {
            bytes.append(&mut self.bytes);
        }
    }

    fn push(&mut self, packet: TracePacket) {
        self.encode_newest();
        self.newest = Some(TracePacket { trusted_packet_sequence_id: SEQUENCE, ..packet });
    }

    fn encode_newest(&mut self) {
        if let Some(packet) = self.newest.take() {
            self.bytes.push(PACKET_KEY);
            packet.encode_length_delimited(&mut self.bytes).expect("a Vec takes all bytes");
        }
    }

    fn describe(&mut self, track_descriptor: TrackDescriptor) {
        self.push(TracePacket { track_descriptor: Some(track_descriptor), ..TracePacket::default() });
    }

    fn new_track(&mut self) -> Track {
        self.last_track += 1;
        Track(self.last_track)
    }

    /// The track of a thread of the program.
    pub(super) fn thread(&mut self, thread: u64, name: &str) -> Track {
        if let Some(&track) = self.threads.get(&thread) {
            return track;
        }
        let track = self.new_track();
        self.threads.insert(thread, track);
        self.describe(TrackDescriptor {
            uuid: track.0,
            parent_uuid: Some(self.process.0),
            thread: Some(ThreadDescriptor {
                pid: pid(),
                tid: i64::try_from(thread).unwrap_or(0),
                thread_name: name.into(),
            }),
            ..TrackDescriptor::default()
        });
        track
    }

    fn named(&mut self, name: String, counter: Option<CounterDescriptor>) -> Track {
        let track = self.new_track();
        let parent_uuid = Some(self.process.0);
        self.describe(TrackDescriptor {
            uuid: track.0,
            parent_uuid,
            name: Some(name),
            counter,
            ..TrackDescriptor::default()
        });
        track
    }

    /// A new track for what a stream executes.
    pub(super) fn stream(&mut self, stream: u32) -> Track {
        self.named(format!("mps stream {stream}"), None)
    }

    /// The track of what a stream is given.
    pub(super) fn queue(&mut self, stream: u32) -> Track {
        if let Some(&track) = self.queues.get(&stream) {
            return track;
        }
        let track = self.named(format!("mps queue {stream}"), None);
        self.queues.insert(stream, track);
        track
    }

    /// Sets the counter `name`, in bytes.
    pub(super) fn counter(&mut self, time_ns: u64, name: &'static str, bytes: u64) {
        let track = match self.counters.get(name) {
            Some(&track) => track,
            None => {
                let track = self.named(
                    format!("mps {name}"),
                    Some(CounterDescriptor { unit: UNIT_SIZE_BYTES, ..CounterDescriptor::default() }),
                );
                self.counters.insert(name, track);
                track
            }
        };
        let counter_value = Some(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.event(time_ns, EventType::Counter, track, TrackEvent { counter_value, ..TrackEvent::default() }, None);
    }

    /// Begins a slice; `flow` leads from it to others.
    pub(super) fn begin(
        &mut self,
        time_ns: u64,
        track: Track,
        category: Category,
        name: &str,
        flow: Option<u64>,
        annotations: &[Annotation],
    ) {
        let mut event = self.named_event(category, annotations);
        event.flow_ids.extend(flow);
        self.event(time_ns, EventType::SliceBegin, track, event, Some(name));
    }

    /// Ends the newest slice of a track.
    pub(super) fn end(&mut self, time_ns: u64, track: Track) {
        self.event(time_ns, EventType::SliceEnd, track, TrackEvent::default(), None);
    }

    /// Something without duration.
    pub(super) fn instant(
        &mut self,
        time_ns: u64,
        track: Track,
        category: Category,
        name: &str,
        annotations: &[Annotation],
    ) {
        let event = self.named_event(category, annotations);
        self.event(time_ns, EventType::Instant, track, event, Some(name));
    }

    fn named_event(&self, category: Category, annotations: &[Annotation]) -> TrackEvent {
        TrackEvent {
            category_iids: vec![category.iid()],
            debug_annotations: annotations.iter().map(Annotation::encode).collect(),
            ..TrackEvent::default()
        }
    }

    fn event(&mut self, time_ns: u64, kind: EventType, track: Track, event: TrackEvent, name: Option<&str>) {
        let (name_iid, interned_data) = match name {
            None => (None, None),
            Some(name) => match self.names.get(name) {
                Some(&iid) => (Some(iid), None),
                None => {
                    let iid = self.names.len() as u64 + 1;
                    self.names.insert(name.to_owned(), iid);
                    let event_names = vec![InternedName { iid, name: name.into() }];
                    (Some(iid), Some(InternedData { event_names, ..InternedData::default() }))
                }
            },
        };
        self.push(TracePacket {
            timestamp: Some(time_ns),
            sequence_flags: Some(SEQ_NEEDS_INCREMENTAL_STATE),
            interned_data,
            track_event: Some(TrackEvent { r#type: Some(kind.into()), track_uuid: Some(track.0), name_iid, ..event }),
            ..TracePacket::default()
        });
    }

    /// The newest event is a step of `flow`.
    pub(super) fn continue_flow(&mut self, flow: u64) {
        if let Some(event) = self.newest.as_mut().and_then(|packet| packet.track_event.as_mut()) {
            event.flow_ids.push(flow);
        }
    }

    /// The newest event is the end of `flow`.
    pub(super) fn terminate(&mut self, flow: u64) {
        if let Some(event) = self.newest.as_mut().and_then(|packet| packet.track_event.as_mut()) {
            event.terminating_flow_ids.push(flow);
        }
    }
}

fn pid() -> i32 {
    i32::try_from(process::id()).unwrap_or(0)
}
