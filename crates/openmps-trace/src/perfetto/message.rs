//! The messages of a Perfetto trace that are written and read here, as `prost` encodes them.
//!
//! A subset of `perfetto/protos/trace/`: numbers and types of fields are that schema's, and so are the names. What the schema has
//! beyond it is skipped.

use prost::Message;

/// `TracePacket.SequenceFlags`: interned names start anew.
pub const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TracePacket.SequenceFlags`: the packet uses interned names.
pub const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;
/// `CounterDescriptor.Unit`: bytes.
pub const UNIT_SIZE_BYTES: i32 = 3;

/// `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// None said.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The newest slice of the track ends.
    SliceEnd = 2,
    /// Without duration.
    Instant = 3,
    /// A value of a counter.
    Counter = 4,
}

/// The file: packets one after the other, so that one which is cut off spoils no other.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One packet.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Clocks at one moment.
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    /// In nanoseconds, on the clock that the packet or its sequence says.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Who wrote it.
    #[prost(uint32, tag = "10")]
    pub trusted_packet_sequence_id: u32,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names with numbers.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// Bits of `SequenceFlags`.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// Packets under zlib, which are not read here.
    #[prost(bytes = "vec", optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    /// Which clock `timestamp` is of.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    /// Defaults of the sequence from here on.
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    /// Nothing was lost before.
    #[prost(bool, optional, tag = "87")]
    pub first_packet_on_sequence: Option<bool>,
}

/// Readings of clocks at one moment.
#[derive(Clone, PartialEq, Message)]
pub struct ClockSnapshot {
    /// One reading each.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

/// A reading.
#[derive(Clone, PartialEq, Message)]
pub struct Clock {
    /// `BuiltinClock`, or from 64 on one of the sequence.
    #[prost(uint32, tag = "1")]
    pub clock_id: u32,
    /// In nanoseconds, on the clock that the packet or its sequence says.
    #[prost(uint64, tag = "2")]
    pub timestamp: u64,
    /// Each packet of the sequence tells the time since the one before.
    #[prost(bool, optional, tag = "3")]
    pub is_incremental: Option<bool>,
    /// Nanoseconds in one unit.
    #[prost(uint64, optional, tag = "4")]
    pub unit_multiplier_ns: Option<u64>,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Numbers of categories.
    #[prost(uint64, repeated, tag = "3")]
    pub category_iids: Vec<u64>,
    /// What it says besides its name.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// See [`EventType`].
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Number of the name.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Categories without numbers.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// A name without a number.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// The value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// The value of a counter.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Flows that go on.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Flows that end.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// What an event says besides its name.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Number of the name.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// A name without a number.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// A value.
    #[prost(bool, optional, tag = "2")]
    pub bool_value: Option<bool>,
    /// A value.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// A value.
    #[prost(int64, optional, tag = "4")]
    pub int_value: Option<i64>,
    /// A value.
    #[prost(double, optional, tag = "5")]
    pub double_value: Option<f64>,
    /// A value.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// A value that occurs often.
    #[prost(uint64, optional, tag = "17")]
    pub string_value_iid: Option<u64>,
}

/// Names with numbers, which later packets of the sequence use.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Categories.
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedName>,
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Names of annotations.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
    /// Values of annotations.
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<InternedString>,
}

/// `EventCategory`, `EventName` and `DebugAnnotationName`, which look alike.
#[derive(Clone, PartialEq, Message)]
pub struct InternedName {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub iid: u64,
    /// A name without a number.
    #[prost(string, tag = "2")]
    pub name: String,
}

/// A value that occurs often.
#[derive(Clone, PartialEq, Message)]
pub struct InternedString {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub iid: u64,
    /// Its text.
    #[prost(bytes = "vec", tag = "2")]
    pub str: Vec<u8>,
}

/// What packets of a sequence have unless they say otherwise.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacketDefaults {
    /// Of events.
    #[prost(message, optional, tag = "11")]
    pub track_event_defaults: Option<TrackEventDefaults>,
    /// Which clock `timestamp` is of.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
}

/// What events have unless they say otherwise.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEventDefaults {
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number in the file.
    #[prost(uint64, tag = "1")]
    pub uuid: u64,
    /// A name without a number.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// A name that a program has as a constant.
    #[prost(string, optional, tag = "10")]
    pub static_name: Option<String>,
    /// It stands for a process.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// It stands for a thread.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    /// The track above.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// It is a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A process.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Number of the process.
    #[prost(int32, tag = "1")]
    pub pid: i32,
    /// Its words.
    #[prost(string, repeated, tag = "2")]
    pub cmdline: Vec<String>,
    /// Its name.
    #[prost(string, tag = "6")]
    pub process_name: String,
}

/// A thread.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// Number of the process.
    #[prost(int32, tag = "1")]
    pub pid: i32,
    /// Number of the thread.
    #[prost(int64, tag = "2")]
    pub tid: i64,
    /// Its name.
    #[prost(string, tag = "5")]
    pub thread_name: String,
}

/// A counter.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// `CounterDescriptor.Unit`.
    #[prost(int32, tag = "3")]
    pub unit: i32,
    /// Another unit.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
    /// Values are multiples of it.
    #[prost(int64, optional, tag = "4")]
    pub unit_multiplier: Option<i64>,
    /// Values are differences to the value before.
    #[prost(bool, optional, tag = "5")]
    pub is_incremental: Option<bool>,
}

/// The bytes of a file with these packets.
#[must_use]
pub fn encode(packet: Vec<TracePacket>) -> Vec<u8> {
    Trace { packet }.encode_to_vec()
}
