"""Order between streams, and events that several streams and threads use."""

import threading

import pytest
import torch

SOURCE = """
kernel void slow(device float* out, device const float* in, constant uint& rounds, uint i [[thread_position_in_grid]]) {
  float x = in[i];
  for (uint k = 0; k < rounds; ++k) { x = x + 1; }
  out[i] = x;
}
"""
ROUNDS = 3_000_000


@pytest.fixture(scope="module")
def slow():
    return torch.mps.compile_shader(SOURCE).slow


def test_an_event_of_one_stream_holds_back_another(slow):
    first, second = torch.mps.Stream(), torch.mps.Stream()
    start, middle, end = (torch.zeros(4, device="mps") for _ in range(3))
    event = torch.Event("mps")
    with torch.mps.stream(first):
        slow(middle, start, ROUNDS)
        event.record()
    with torch.mps.stream(second):
        event.wait()
        slow(end, middle, 5)
    second.synchronize()
    assert end.tolist() == [ROUNDS + 5.0] * 4
    assert event.query()


def test_a_chain_over_many_streams(slow):
    streams = [torch.mps.Stream() for _ in range(6)]
    values = [torch.zeros(2, device="mps") for _ in range(len(streams) + 1)]
    previous = None
    for index, stream in enumerate(streams):
        if previous is not None:
            stream.wait_stream(previous)
        with torch.mps.stream(stream):
            slow(values[index + 1], values[index], ROUNDS // 10)
        previous = stream
    previous.synchronize()
    assert values[-1].tolist() == [ROUNDS // 10 * 6.0] * 2


def test_an_event_recorded_again_is_its_last_record(slow):
    event = torch.Event("mps")
    data = [torch.zeros(2, device="mps") for _ in range(3)]
    stream = torch.mps.Stream()
    with torch.mps.stream(stream):
        slow(data[1], data[0], 10)
        event.record()
        event.synchronize()
        slow(data[2], data[1], ROUNDS)
        event.record()
    event.synchronize()
    assert data[2].tolist() == [ROUNDS + 10.0] * 2


def test_recorded_in_one_thread_and_awaited_in_others(slow):
    start, end = torch.zeros(4, device="mps"), torch.zeros(4, device="mps")
    event = torch.Event("mps")
    is_recorded = threading.Event()
    found = []

    def produce():
        with torch.mps.stream(torch.mps.Stream()):
            slow(end, start, ROUNDS)
            event.record()
        is_recorded.set()

    def consume():
        is_recorded.wait()
        event.synchronize()
        found.append(end.cpu().tolist())

    threads = [threading.Thread(target=function) for function in (produce, consume, consume)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[float(ROUNDS)] * 4] * 2


def test_times_over_two_streams(slow):
    start, end = torch.Event("mps", enable_timing=True), torch.Event("mps", enable_timing=True)
    data = [torch.zeros(4, device="mps") for _ in range(2)]
    first, second = torch.mps.Stream(), torch.mps.Stream()
    with torch.mps.stream(first):
        start.record()
        slow(data[1], data[0], ROUNDS)
    second.wait_stream(first)
    with torch.mps.stream(second):
        end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


def test_accelerator_streams_and_events(slow):
    data = [torch.zeros(4, device="mps") for _ in range(2)]
    stream = torch.Stream(device="mps")
    before = torch.accelerator.current_stream()
    with stream:
        assert torch.accelerator.current_stream() == stream
        slow(data[1], data[0], ROUNDS)
        event = stream.record_event()
    assert torch.accelerator.current_stream() == before
    before.wait_event(event)
    slow(data[0], data[1], 1)
    torch.accelerator.synchronize()
    assert data[0].tolist() == [ROUNDS + 1.0] * 4
    assert stream.query() and event.query()
