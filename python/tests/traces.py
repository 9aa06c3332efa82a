"""Reads Perfetto traces with Google's own message definitions (the PyPI package ``perfetto``): an independent reader."""

import pathlib
from dataclasses import dataclass, field

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

_Type = proto.TrackEvent.Type


@dataclass
class Slice:
    """A slice, an instant (which has no end) or the value of a counter."""

    track: str
    category: str
    name: str
    begin_ns: int
    end_ns: int | None = None
    arguments: dict = field(default_factory=dict)
    flows: set = field(default_factory=set)
    value: int | None = None


@dataclass
class Trace:
    """What a file shows."""

    slices: list[Slice]
    instants: list[Slice]
    counters: list[Slice]
    tracks: dict[int, str]
    #: Bytes behind the last whole packet.
    rest: bytes

    def of(self, category: str) -> list[Slice]:
        """Slices and instants of a category, in order of time."""
        return sorted((one for one in self.slices + self.instants if one.category == category), key=lambda one: one.begin_ns)

    def categories(self) -> set[str]:
        return {one.category for one in self.slices + self.instants}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def packets(data: bytes):
    """The whole packets of a file, which may be cut off anywhere; then the bytes that are left."""
    at = 0
    while at < len(data):
        try:
            assert data[at] == 0x0A, f"byte {at} starts no packet"
            size, start = _varint(data, at + 1)
        except IndexError:
            break
        if start + size > len(data):
            break
        packet = proto.TracePacket()
        packet.ParseFromString(data[start : start + size])
        yield packet, start + size
        at = start + size


def read(source: pathlib.Path | bytes) -> Trace:
    """Reads a trace as a viewer does: names are resolved, slices nest on their track."""
    data = source if isinstance(source, bytes) else source.read_bytes()
    names = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {}}
    tracks, open_slices = {}, {}
    slices, instants, counters = [], [], []
    events, end = [], 0
    for packet, end in packets(data):
        assert packet.trusted_packet_sequence_id != 0
        for kind, known in names.items():
            known.update({entry.iid: entry.name for entry in getattr(packet.interned_data, kind)})
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            tracks[track.uuid] = track.name or track.thread.thread_name or track.process.process_name
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in tracks, "a track is described before it is used"
            one = Slice(
                track=tracks[event.track_uuid],
                category=names["event_categories"].get(event.category_iids[0], "") if event.category_iids else "",
                name=names["event_names"][event.name_iid] if event.name_iid else "",
                begin_ns=packet.timestamp,
                arguments={
                    names["debug_annotation_names"][note.name_iid]: note.string_value or note.uint_value
                    for note in event.debug_annotations
                },
                flows=set(event.flow_ids) | set(event.terminating_flow_ids),
                value=event.counter_value if event.type == _Type.TYPE_COUNTER else None,
            )
            events.append((packet.timestamp, len(events), event, one))
    for time, _, event, one in sorted(events, key=lambda entry: entry[:2]):
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == _Type.TYPE_SLICE_BEGIN:
            stack.append(one)
            slices.append(one)
        elif event.type == _Type.TYPE_SLICE_END:
            assert stack, f"an end without a begin on {one.track}"
            stack.pop().end_ns = time
        elif event.type == _Type.TYPE_COUNTER:
            counters.append(one)
        else:
            instants.append(one)
    return Trace(slices, instants, counters, tracks, data[end:])
