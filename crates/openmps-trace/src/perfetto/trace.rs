//! A trace as slices, instants and counters on tracks, with texts by number.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::clocks::Clocks;
use super::error::TraceError;
use super::message::{
    DebugAnnotation, EventType, InternedData, SEQ_INCREMENTAL_STATE_CLEARED, TracePacket, TracePacketDefaults,
    TrackDescriptor, TrackEvent, UNIT_SIZE_BYTES,
};
use super::packets::packets;

/// A file has at most this many bytes: all of it is held in memory.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// What a track is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A process.
    Process,
    /// A thread with this number.
    Thread(i64),
    /// A counter with this unit, `B` for bytes.
    Counter(String),
    /// Anything else: a stream, a queue.
    Other,
}

/// A track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its name, which may be empty.
    pub name: String,
    /// What it is.
    pub kind: TrackKind,
}

/// A slice or an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Place of its track.
    pub track: usize,
    /// When it began, in nanoseconds of `CLOCK_BOOTTIME` as a rule.
    pub begin_ns: u64,
    /// When it ended; the same as `begin_ns` for an instant, and the end of the trace for a slice without an end.
    pub end_ns: u64,
    /// Whether it has no duration.
    pub is_instant: bool,
    /// Place of its name in [`Trace::texts`].
    pub name: usize,
    /// Place of its first category.
    pub category: usize,
    /// Places of names and values.
    pub arguments: Vec<(usize, usize)>,
    /// The flows that it is part of, in rising order.
    pub flows: Vec<u64>,
}

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Place of its track.
    pub track: usize,
    /// When it was set.
    pub time_ns: u64,
    /// The value.
    pub value: f64,
}

/// What the reader did not take over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Packets without an event and without anything that events need.
    pub other_packets: usize,
    /// Packets that hold compressed ones.
    pub compressed_packets: usize,
    /// Events of types that are not known here.
    pub unknown_events: usize,
    /// Ends of slices whose begin is not in the trace.
    pub ends_alone: usize,
    /// Slices without an end.
    pub open_slices: usize,
    /// Bytes of a packet that is cut off at the end of the file.
    pub cut_bytes: usize,
}

/// A trace that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Command line or name of the process, where one is told.
    pub process: Option<String>,
    /// Tracks in the order of the file.
    pub tracks: Vec<Track>,
    /// Slices and instants in order of time.
    pub events: Vec<Event>,
    /// Values of counters in order of time.
    pub samples: Vec<Sample>,
    /// Names, categories and values.
    pub texts: Vec<String>,
    /// Packets in the file.
    pub packets: usize,
    /// What is not shown.
    pub left: Left,
}

impl Trace {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let size_bytes = fs::metadata(path)?.len();
        if size_bytes > FILE_BYTES_MAX {
            return Err(TraceError::TooLarge { size_bytes, limit_bytes: FILE_BYTES_MAX });
        }
        Self::from_bytes(&fs::read(path)?)
    }

    /// Reads the trace in `bytes`.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut reader = Reader::default();
        reader.trace.left.cut_bytes = packets(bytes, |packet| reader.packet(packet))?;
        reader.finish()
    }
}

/// What the packets of one sequence share.
#[derive(Debug, Default)]
struct Sequence {
    clock: Option<u32>,
    track: Option<u64>,
    categories: HashMap<u64, usize>,
    names: HashMap<u64, usize>,
    annotation_names: HashMap<u64, usize>,
    annotation_values: HashMap<u64, usize>,
}

/// The begin or end of a slice, or an instant, before they are matched.
#[derive(Debug)]
struct Mark {
    is_end: bool,
    event: Event,
}

#[derive(Debug, Default)]
struct Reader {
    trace: Trace,
    places: HashMap<String, usize>,
    /// Places of tracks by number; one that is never described has an empty name.
    tracks: HashMap<u64, usize>,
    /// How counters count: values are multiples of the first, and differences or not.
    counters: HashMap<usize, (i64, bool)>,
    sequences: HashMap<u32, Sequence>,
    clocks: Clocks,
    marks: Vec<Mark>,
}

impl Reader {
    fn text(&mut self, text: &str) -> usize {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.trace.texts.len();
        self.places.insert(text.to_owned(), place);
        self.trace.texts.push(text.to_owned());
        place
    }

    fn packet(&mut self, packet: TracePacket) {
        self.trace.packets += 1;
        let id = packet.trusted_packet_sequence_id;
        if packet.sequence_flags.unwrap_or(0) & SEQ_INCREMENTAL_STATE_CLEARED != 0 {
            self.sequences.insert(id, Sequence::default());
        }
        let mut is_known = false;
        if let Some(defaults) = packet.trace_packet_defaults {
            is_known = true;
            self.defaults(id, &defaults);
        }
        if let Some(snapshot) = &packet.clock_snapshot {
            is_known = true;
            self.clocks.snapshot(id, snapshot);
        }
        if let Some(data) = packet.interned_data {
            is_known = true;
            self.intern(id, &data);
        }
        if let Some(track) = &packet.track_descriptor {
            is_known = true;
            self.describe(track);
        }
        let clock = packet.timestamp_clock_id.or_else(|| self.sequences.get(&id)?.clock);
        // Clocks that count from packet to packet must see every one.
        let time_ns = self.clocks.boot_ns(id, clock, packet.timestamp.unwrap_or(0));
        if let Some(event) = packet.track_event {
            is_known = true;
            self.event(id, time_ns, event);
        }
        self.trace.left.compressed_packets += usize::from(packet.compressed_packets.is_some());
        self.trace.left.other_packets += usize::from(!is_known && packet.compressed_packets.is_none());
    }

    fn defaults(&mut self, id: u32, defaults: &TracePacketDefaults) {
        let sequence = self.sequences.entry(id).or_default();
        sequence.clock = defaults.timestamp_clock_id;
        sequence.track = defaults.track_event_defaults.as_ref().and_then(|defaults| defaults.track_uuid);
    }

    fn intern(&mut self, id: u32, data: &InternedData) {
        let mut sequence = self.sequences.remove(&id).unwrap_or_default();
        for name in &data.event_categories {
            sequence.categories.insert(name.iid, self.text(&name.name));
        }
        for name in &data.event_names {
            sequence.names.insert(name.iid, self.text(&name.name));
        }
        for name in &data.debug_annotation_names {
            sequence.annotation_names.insert(name.iid, self.text(&name.name));
        }
        for value in &data.debug_annotation_string_values {
            let text = self.text(&String::from_utf8_lossy(&value.str));
            sequence.annotation_values.insert(value.iid, text);
        }
        self.sequences.insert(id, sequence);
    }

    fn track(&mut self, uuid: u64) -> usize {
        let tracks = &mut self.trace.tracks;
        *self.tracks.entry(uuid).or_insert_with(|| {
            tracks.push(Track { name: String::new(), kind: TrackKind::Other });
            tracks.len() - 1
        })
    }

    fn describe(&mut self, descriptor: &TrackDescriptor) {
        let place = self.track(descriptor.uuid);
        let mut name = descriptor.name.clone().or_else(|| descriptor.static_name.clone()).unwrap_or_default();
        let mut kind = TrackKind::Other;
        if let Some(process) = &descriptor.process {
            kind = TrackKind::Process;
            let words = process.cmdline.join(" ");
            let told = if words.is_empty() { process.process_name.clone() } else { words };
            self.trace.process.get_or_insert_with(|| format!("{told} (process {})", process.pid));
        }
        if let Some(thread) = &descriptor.thread {
            kind = TrackKind::Thread(thread.tid);
            if name.is_empty() {
                name.clone_from(&thread.thread_name);
            }
        }
        if let Some(counter) = &descriptor.counter {
            let unit = if counter.unit == UNIT_SIZE_BYTES { Some("B".into()) } else { counter.unit_name.clone() };
            kind = TrackKind::Counter(unit.unwrap_or_default());
            let multiplier = counter.unit_multiplier.filter(|factor| *factor != 0).unwrap_or(1);
            self.counters.insert(place, (multiplier, counter.is_incremental.unwrap_or(false)));
        }
        self.trace.tracks[place] = Track { name, kind };
    }

    fn event(&mut self, id: u32, time_ns: u64, event: TrackEvent) {
        let default = self.sequences.get(&id).and_then(|sequence| sequence.track);
        let track = self.track(event.track_uuid.or(default).unwrap_or(0));
        let is_end = match event.r#type() {
            EventType::SliceBegin | EventType::Instant => false,
            EventType::SliceEnd => true,
            EventType::Counter => {
                #[expect(clippy::cast_precision_loss, reason = "a curve needs no more than 53 bits")]
                let value = event.double_counter_value.or(event.counter_value.map(|value| value as f64));
                self.trace.samples.push(Sample { track, time_ns, value: value.unwrap_or(0.0) });
                return;
            }
            EventType::Unspecified => {
                self.trace.left.unknown_events += 1;
                return;
            }
        };
        let none = self.text("");
        let known = |map: fn(&Sequence) -> &HashMap<u64, usize>, iid: u64| {
            self.sequences.get(&id).and_then(|sequence| map(sequence).get(&iid).copied())
        };
        let name = event.name_iid.and_then(|iid| known(|sequence| &sequence.names, iid));
        let category = event.category_iids.first().and_then(|iid| known(|sequence| &sequence.categories, *iid));
        let name = event.name.as_deref().map(|text| self.text(text)).or(name).unwrap_or(none);
        let category = event.categories.first().map(|text| self.text(text)).or(category).unwrap_or(none);
        let arguments = event.debug_annotations.iter().filter_map(|argument| self.argument(id, argument)).collect();
        let mut flows = [event.flow_ids.as_slice(), &event.terminating_flow_ids].concat();
        flows.sort_unstable();
        flows.dedup();
        let is_instant = event.r#type() == EventType::Instant;
        let event = Event { track, begin_ns: time_ns, end_ns: time_ns, is_instant, name, category, arguments, flows };
        self.marks.push(Mark { is_end, event });
    }

    /// Name and value of an annotation; none for one without a plain value.
    fn argument(&mut self, id: u32, argument: &DebugAnnotation) -> Option<(usize, usize)> {
        let sequence = self.sequences.get(&id);
        let name = argument.name_iid.and_then(|iid| sequence?.annotation_names.get(&iid).copied());
        let value = argument.string_value_iid.and_then(|iid| sequence?.annotation_values.get(&iid).copied());
        let name = argument.name.as_deref().map(|text| self.text(text)).or(name)?;
        let number = argument.uint_value.map(|value| value.to_string());
        let number = number.or_else(|| argument.int_value.map(|value| value.to_string()));
        let number = number.or_else(|| argument.double_value.map(|value| value.to_string()));
        let plain = number.or_else(|| argument.bool_value.map(|value| value.to_string()));
        let text = argument.string_value.clone().or(plain);
        let value = text.map(|text| self.text(&text)).or(value)?;
        Some((name, value))
    }

    /// Matches begins and ends, and counts counters up.
    fn finish(mut self) -> Result<Trace, TraceError> {
        if self.marks.is_empty() && self.trace.samples.is_empty() {
            return Err(TraceError::NoEvents { packets: self.trace.packets });
        }
        // Stable: what happens at one moment stays in the file's order.
        self.marks.sort_by_key(|mark| mark.event.begin_ns);
        self.trace.samples.sort_by_key(|sample| sample.time_ns);
        let last_mark = self.marks.last().map_or(0, |mark| mark.event.begin_ns);
        let last_ns = self.trace.samples.last().map_or(0, |sample| sample.time_ns).max(last_mark);
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); self.trace.tracks.len()];
        let Trace { events, left, samples, .. } = &mut self.trace;
        for Mark { is_end, event } in self.marks {
            if !is_end {
                if !event.is_instant {
                    open[event.track].push(events.len());
                }
                events.push(event);
            } else if let Some(place) = open[event.track].pop() {
                events[place].end_ns = event.begin_ns;
            } else {
                left.ends_alone += 1;
            }
        }
        for place in open.into_iter().flatten() {
            events[place].end_ns = last_ns;
            left.open_slices += 1;
        }
        let mut sums: HashMap<usize, f64> = HashMap::new();
        for sample in samples {
            let Some(&(multiplier, is_incremental)) = self.counters.get(&sample.track) else { continue };
            #[expect(clippy::cast_precision_loss, reason = "multipliers are powers of ten")]
            let value = sample.value * multiplier as f64;
            let sum = sums.entry(sample.track).or_default();
            *sum = if is_incremental { *sum + value } else { value };
            sample.value = *sum;
        }
        Ok(self.trace)
    }
}
