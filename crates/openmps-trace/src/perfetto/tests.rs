//! Reading traces: names, nesting, flows, clocks, damage.

use super::message::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedName,
    SEQ_INCREMENTAL_STATE_CLEARED, ThreadDescriptor, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent,
    TrackEventDefaults, UNIT_SIZE_BYTES, encode as bytes,
};
use super::{Left, Trace, TraceError, TrackKind};

fn event(timestamp: u64, kind: EventType, event: TrackEvent) -> TracePacket {
    let track_event = Some(TrackEvent { r#type: Some(kind.into()), ..event });
    TracePacket { timestamp: Some(timestamp), trusted_packet_sequence_id: 1, track_event, ..TracePacket::default() }
}

fn named(name: &str, track: u64) -> TrackEvent {
    TrackEvent { name: Some(name.into()), track_uuid: Some(track), ..TrackEvent::default() }
}

fn descriptor(track_descriptor: TrackDescriptor) -> TracePacket {
    TracePacket { track_descriptor: Some(track_descriptor), ..TracePacket::default() }
}

#[test]
fn slices_nest_and_what_is_open_ends_with_the_trace() {
    let end = || TrackEvent { track_uuid: Some(1), ..TrackEvent::default() };
    let trace = Trace::from_bytes(&bytes(vec![
        descriptor(TrackDescriptor {
            uuid: 1,
            thread: Some(ThreadDescriptor { pid: 7, tid: 8, thread_name: "main".into() }),
            ..TrackDescriptor::default()
        }),
        event(30, EventType::SliceEnd, end()),
        event(10, EventType::SliceBegin, TrackEvent { flow_ids: vec![5, 2], ..named("outer", 1) }),
        event(20, EventType::SliceBegin, TrackEvent { terminating_flow_ids: vec![2], ..named("inner", 1) }),
        event(35, EventType::Instant, named("mark", 1)),
        event(50, EventType::SliceEnd, end()),
        event(40, EventType::SliceBegin, named("open", 2)),
        event(5, EventType::SliceEnd, end()),
        TracePacket { trusted_packet_sequence_id: 1, timestamp: Some(1), ..TracePacket::default() },
        TracePacket { compressed_packets: Some(vec![1]), ..TracePacket::default() },
    ]))
    .unwrap();
    let events: Vec<_> = trace
        .events
        .iter()
        .map(|event| (trace.texts[event.name].as_str(), event.begin_ns, event.end_ns, event.flows.as_slice()))
        .collect();
    assert_eq!(
        events,
        [("outer", 10, 50, [2, 5].as_slice()), ("inner", 20, 30, &[2]), ("mark", 35, 35, &[]), ("open", 40, 50, &[])]
    );
    assert_eq!((trace.tracks[0].name.as_str(), &trace.tracks[0].kind), ("main", &TrackKind::Thread(8)));
    assert_eq!((trace.tracks[1].name.as_str(), &trace.tracks[1].kind), ("", &TrackKind::Other));
    let left = Left { other_packets: 1, compressed_packets: 1, ends_alone: 1, open_slices: 1, ..Left::default() };
    assert_eq!((trace.left, trace.packets), (left, 10));
}

#[test]
fn names_have_numbers_until_the_sequence_starts_anew() {
    let name = |iid, name: &str| InternedName { iid, name: name.into() };
    let data = |text: &str| TracePacket {
        trusted_packet_sequence_id: 1,
        sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
        interned_data: Some(InternedData {
            event_names: vec![name(1, text)],
            event_categories: vec![name(1, "category")],
            debug_annotation_names: vec![name(1, "grid")],
            ..InternedData::default()
        }),
        ..TracePacket::default()
    };
    let one = |time| {
        let grid = DebugAnnotation { name_iid: Some(1), uint_value: Some(9), ..DebugAnnotation::default() };
        let unknown = DebugAnnotation { name_iid: Some(2), uint_value: Some(9), ..DebugAnnotation::default() };
        let event = TrackEvent { name_iid: Some(1), category_iids: vec![1], ..TrackEvent::default() };
        self::event(time, EventType::Instant, TrackEvent { debug_annotations: vec![grid, unknown], ..event })
    };
    let other = TracePacket { trusted_packet_sequence_id: 2, ..one(3) };
    let trace = Trace::from_bytes(&bytes(vec![data("first"), one(1), data("second"), one(2), other])).unwrap();
    let text = |place: usize| trace.texts[place].as_str();
    let names: Vec<_> = trace.events.iter().map(|event| (text(event.name), text(event.category))).collect();
    assert_eq!(names, [("first", "category"), ("second", "category"), ("", "")]);
    let arguments: Vec<_> = trace.events[0].arguments.iter().map(|(name, value)| (text(*name), text(*value))).collect();
    assert_eq!(arguments, [("grid", "9")]);
}

#[test]
fn clocks_and_counters_of_other_programs() {
    let clock = |clock_id, timestamp, is_incremental, unit| Clock {
        clock_id,
        timestamp,
        is_incremental: Some(is_incremental),
        unit_multiplier_ns: Some(unit),
    };
    let head = TracePacket {
        trusted_packet_sequence_id: 1,
        clock_snapshot: Some(ClockSnapshot { clocks: vec![clock(6, 50_000, false, 1), clock(64, 10, true, 1000)] }),
        trace_packet_defaults: Some(TracePacketDefaults {
            timestamp_clock_id: Some(64),
            track_event_defaults: Some(TrackEventDefaults { track_uuid: Some(3) }),
        }),
        ..TracePacket::default()
    };
    let counter = descriptor(TrackDescriptor {
        uuid: 3,
        name: Some("memory".into()),
        counter: Some(CounterDescriptor {
            unit: UNIT_SIZE_BYTES,
            unit_multiplier: Some(1024),
            is_incremental: Some(true),
            unit_name: None,
        }),
        ..TrackDescriptor::default()
    });
    let value = |time, value| {
        event(time, EventType::Counter, TrackEvent { counter_value: Some(value), ..TrackEvent::default() })
    };
    let trace = Trace::from_bytes(&bytes(vec![head, counter, value(1, 2), value(2, -1)])).unwrap();
    assert_eq!(trace.tracks[0].kind, TrackKind::Counter("B".into()));
    let samples: Vec<_> = trace.samples.iter().map(|sample| (sample.time_ns, sample.value)).collect();
    assert_eq!(samples, [(51_000, 2048.0), (53_000, 1024.0)]);
}

#[test]
fn what_is_no_trace_is_told() {
    let error = |bytes: &[u8]| Trace::from_bytes(bytes).unwrap_err().to_string();
    let foreign = |what: &str| format!("this is no Perfetto trace: {what}");
    assert_eq!(error(b""), foreign("the file is empty"));
    assert_eq!(error(b"PNG"), foreign("it does not start with a packet"));
    assert_eq!(error(b"{\"traceEvents\": []}"), foreign("it is text, perhaps JSON in Chrome's old format"));
    assert_eq!(error(&[0x1f, 0x8b, 8]), foreign("it is compressed, gunzip unpacks it"));
    assert_eq!(error(&[0x0a, 200]), foreign("it has no whole packet"));
    assert!(error(b"\n\x04abcd").starts_with(&foreign("its first packet is none: ")));
    let other = bytes(vec![TracePacket { timestamp: Some(1), ..TracePacket::default() }]);
    let text = "the trace has no events on tracks, but 1 packets of other kinds, which ui.perfetto.dev shows";
    assert_eq!(error(&other), text);
    let damaged = [other.as_slice(), &[1, 2, 3]].concat();
    assert_eq!(error(&damaged), "the trace is damaged: packet 1 at byte 4: no packet starts there");
    let long = [other.as_slice(), &[0x0a], &[0xff; 12]].concat();
    assert_eq!(error(&long), "the trace is damaged: packet 1 at byte 4: its length is none");
    assert!(matches!(Trace::open("/nowhere".as_ref()), Err(TraceError::Io(_))));
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_read_to_there() {
    let all = bytes((0..5).map(|time| event(time, EventType::Instant, named("one", 1))).collect());
    let one = all.len() / 5;
    for length in one..=all.len() {
        let trace = Trace::from_bytes(&all[..length]).unwrap();
        assert_eq!((trace.events.len(), trace.left.cut_bytes), (length / one, length % one));
    }
}
