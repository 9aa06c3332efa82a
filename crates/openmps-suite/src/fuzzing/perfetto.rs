//! Perfetto traces as `openmps trace show` reads them.
//!
//! Input: any bytes. Promise: an error with a text, or a trace whose places exist, whose events are in order and do not end
//! before they begin.

use openmps_trace::perfetto::Trace;
use openmps_trace::perfetto::message::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedName, InternedString,
    SEQ_INCREMENTAL_STATE_CLEARED, ThreadDescriptor, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent,
    TrackEventDefaults, UNIT_SIZE_BYTES, encode,
};

/// The target.
///
/// # Panics
/// When the promise is broken.
pub fn run(input: &[u8]) {
    let trace = match Trace::from_bytes(input) {
        Ok(trace) => trace,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal without a text");
            return;
        }
    };
    assert!(trace.left.cut_bytes < input.len() && trace.packets <= input.len());
    for event in &trace.events {
        assert!(event.track < trace.tracks.len() && event.end_ns >= event.begin_ns);
        let texts = event.arguments.iter().flat_map(|(name, value)| [*name, *value]);
        assert!(texts.chain([event.name, event.category]).all(|place| place < trace.texts.len()));
        assert!(event.flows.is_sorted());
    }
    assert!(trace.events.is_sorted_by_key(|event| event.begin_ns));
    assert!(trace.samples.iter().all(|sample| sample.track < trace.tracks.len()));
    assert!(trace.samples.is_sorted_by_key(|sample| sample.time_ns));
}

/// Seeds by name: a trace as our profiler writes it, and one with the clocks and defaults of other programs.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    vec![("ours", encode(ours())), ("theirs", encode(theirs()))]
}

fn packet() -> TracePacket {
    TracePacket { trusted_packet_sequence_id: 1, ..TracePacket::default() }
}

fn event(timestamp: u64, kind: EventType, track_event: TrackEvent) -> TracePacket {
    let track_event = Some(TrackEvent { r#type: Some(kind.into()), ..track_event });
    TracePacket { timestamp: Some(timestamp), track_event, ..packet() }
}

fn ours() -> Vec<TracePacket> {
    let name = |iid, name: &str| InternedName { iid, name: name.into() };
    let thread = Some(ThreadDescriptor { pid: 1, tid: 2, thread_name: "main".into() });
    let counter = Some(CounterDescriptor { unit: UNIT_SIZE_BYTES, ..CounterDescriptor::default() });
    let grid = DebugAnnotation { name_iid: Some(1), string_value: Some("64x1x1".into()), ..DebugAnnotation::default() };
    let on = |track_uuid| TrackEvent { track_uuid: Some(track_uuid), ..TrackEvent::default() };
    let names = InternedData {
        event_categories: vec![name(1, "PyTorchOperationIntervals")],
        event_names: vec![name(1, "twice")],
        debug_annotation_names: vec![name(1, "grid")],
        debug_annotation_string_values: vec![InternedString { iid: 1, str: b"value".to_vec() }],
    };
    let head =
        TracePacket { interned_data: Some(names), sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED), ..packet() };
    let track = |track_descriptor| TracePacket { track_descriptor: Some(track_descriptor), ..packet() };
    let launch = TrackEvent {
        category_iids: vec![1],
        name_iid: Some(1),
        debug_annotations: vec![grid],
        flow_ids: vec![7],
        ..on(10)
    };
    vec![
        head,
        track(TrackDescriptor { uuid: 10, thread, ..TrackDescriptor::default() }),
        track(TrackDescriptor { uuid: 11, name: Some("memory".into()), counter, ..TrackDescriptor::default() }),
        event(100, EventType::SliceBegin, launch),
        event(150, EventType::SliceEnd, on(10)),
        event(160, EventType::Counter, TrackEvent { counter_value: Some(9), ..on(11) }),
    ]
}

fn theirs() -> Vec<TracePacket> {
    let clock = |clock_id, is_incremental| Clock {
        clock_id,
        timestamp: 1000,
        is_incremental: Some(is_incremental),
        unit_multiplier_ns: Some(1000),
    };
    let head = TracePacket {
        clock_snapshot: Some(ClockSnapshot { clocks: vec![clock(6, false), clock(64, true)] }),
        trace_packet_defaults: Some(TracePacketDefaults {
            timestamp_clock_id: Some(64),
            track_event_defaults: Some(TrackEventDefaults { track_uuid: Some(3) }),
        }),
        ..packet()
    };
    let named = TrackEvent {
        name: Some("step".into()),
        categories: vec!["theirs".into()],
        terminating_flow_ids: vec![1, 1],
        ..TrackEvent::default()
    };
    vec![
        head,
        event(5, EventType::Instant, named),
        TracePacket { timestamp_clock_id: Some(6), ..event(u64::MAX, EventType::SliceEnd, TrackEvent::default()) },
        TracePacket { compressed_packets: Some(vec![1, 2]), ..packet() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_read() {
        for (name, seed) in seeds() {
            let trace = Trace::from_bytes(&seed).unwrap();
            assert_eq!(trace.events.len(), 1, "{name}");
            run(&seed);
        }
    }
}
