"""torch.mps.Event and torch.Event on the device, each error with its text."""

import re

import pytest
import torch


def test_fresh_event():
    event = torch.mps.Event()
    assert event.query() is False
    event.synchronize()
    event.wait()
    assert event.query() is False


def test_record_and_synchronize():
    event = torch.mps.Event()
    torch.ones(1000, device="mps").mul_(2)
    event.record()
    event.synchronize()
    assert event.query() is True
    event.record()
    event.wait()
    torch.mps.synchronize()
    assert event.query() is True


def test_elapsed_time():
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    start.record()
    torch.randn(256, 256, device="mps") @ torch.randn(256, 256, device="mps")
    end.record()
    assert start.elapsed_time(end) >= 0
    assert start.elapsed_time(start) == 0.0


def test_timing_errors():
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    untimed = torch.mps.Event()
    with pytest.raises(RuntimeError, match="Events were not created with argument 'enable_timing=True'"):
        start.elapsed_time(untimed)
    with pytest.raises(RuntimeError, match="^Both events must be recorded before calculating elapsed time$"):
        start.elapsed_time(end)
    end.record()
    torch.mps.synchronize()
    start.record()
    torch.mps.synchronize()
    with pytest.raises(RuntimeError, match=r"End event \d+ was not recorded after start event \d+"):
        start.elapsed_time(end)
    with pytest.raises(AttributeError):
        start.elapsed_time(3)


def test_enable_timing_must_be_a_bool():
    # The constructor fails before the id is there, so the destructor complains; both are torch's own words.
    with pytest.raises(RuntimeError, match="couldn't convert python object to boolean"):
        torch._C._mps_acquireEvent(1)


@pytest.mark.parametrize(
    "call",
    [
        torch._C._mps_recordEvent,
        torch._C._mps_waitForEvent,
        torch._C._mps_synchronizeEvent,
        torch._C._mps_queryEvent,
        torch._C._mps_releaseEvent,
        lambda event: torch._C._mps_elapsedTimeOfEvents(event, event),
    ],
)
def test_unknown_ids(call):
    with pytest.raises(RuntimeError, match="Invalid Event ID: 4000000"):
        call(4000000)


def test_ids_are_reused():
    first = torch._C._mps_acquireEvent(False)
    torch._C._mps_releaseEvent(first)
    second = torch._C._mps_acquireEvent(True)
    torch._C._mps_releaseEvent(second)
    assert first == second > 0


def test_only_the_default_stream_is_supported():
    event = torch.mps.Event()
    with torch.mps.stream(torch.mps.Stream()):
        for call in (event.record, event.wait):
            with pytest.raises(NotImplementedError, match=re.escape("Non-default streams are not yet supported.")):
                call()
    event.record()


def test_generic_event():
    stream = torch.mps.Stream()
    event = torch.Event(device="mps", enable_timing=True)
    end = torch.Event(device="mps", enable_timing=True)
    with torch.mps.stream(stream):
        event.record(stream)
        x = torch.ones(1000, device="mps") * 3
        end.record(stream)
    end.synchronize()
    assert event.query() and end.query()
    assert event.elapsed_time(end) >= 0
    torch.mps.default_stream().wait_event(end)
    assert x.sum().item() == 3000


def test_generic_event_unrecorded():
    # The generic event's own check, before the device is asked: another class and a full stop.
    with pytest.raises(ValueError, match=re.escape("Both events must be recorded before calculating elapsed time.")):
        first = torch.Event(device="mps", enable_timing=True)
        first.elapsed_time(torch.Event(device="mps", enable_timing=True))
