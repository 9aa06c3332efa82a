"""Errors that kernels report: raised at synchronization points, by the stream they happened on, once, and nowhere else."""

import threading

import pytest
import torch

SOURCE = """
#include <c10/metal/error.h>
kernel void complain(device float* data, device c10::metal::ErrorMessages* errors, uint i [[thread_position_in_grid]]) {
  if (i == 3) { TORCH_REPORT_ERROR(errors, "element ", int(i), " is wrong"); }
  data[i] += 1;
}
"""
TEXT = "element 3 is wrong"


@pytest.fixture(scope="module")
def library():
    return torch.mps.compile_shader(SOURCE)


def complain(library):
    data = torch.zeros(8, device="mps")
    library.complain(data, error_buf_idx=1)
    return data


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    torch.mps.synchronize()


def _elapsed_time(data):
    events = [torch.mps.Event(enable_timing=True) for _ in range(2)]
    for event in events:
        event.record()
    assert events[0].elapsed_time(events[1]) >= 0


POINTS = {
    "item": lambda data: data[0].item(),
    "cpu": lambda data: data.cpu(),
    "print": repr,
    "tolist": lambda data: data.tolist(),
    "bool": lambda data: bool(data[0] > 0),
    "synchronize": lambda data: torch.mps.synchronize(),
    "accelerator": lambda data: torch.accelerator.synchronize(),
    "stream": lambda data: torch.mps.current_stream().synchronize(),
    "empty_cache": lambda data: torch.mps.empty_cache(),
    "nonzero": lambda data: data.nonzero(),
    "mask": lambda data: data[data > 0],
    "elapsed time": _elapsed_time,
    "blocking copy": lambda data: torch.empty(8).copy_(data),
}


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
def test_synchronization_points_raise_once(library, point):
    data = complain(library)
    with pytest.raises(torch.AcceleratorError, match=TEXT):
        point(data)
    point(data)
    assert data.tolist() == [1.0] * 8, "the other threads went on"


def test_nothing_else_raises(library):
    data = complain(library)
    other = data + 1
    view = data[2:].view(3, 2)
    data.add_(1)
    torch.empty(8, device="mps").copy_(data)
    torch.mm(view, torch.ones(2, 2, device="mps"))
    event = torch.mps.Event()
    event.record()
    event.query()
    event.wait()
    event.synchronize()
    torch.mps.current_stream().query()
    generic = torch.Event("mps")
    generic.record()
    torch.mps.Stream().wait_event(generic)
    generic.synchronize()
    torch.mps.current_allocated_memory()
    complain(library)
    with pytest.raises(torch.AcceleratorError, match=TEXT):
        torch.mps.synchronize()
    assert other.tolist() == [2.0] * 8 and data.tolist() == [2.0] * 8


def test_a_stream_raises_its_own_errors(library):
    first, second = torch.mps.Stream(), torch.mps.Stream()
    with torch.mps.stream(first):
        complain(library)
    with torch.mps.stream(second):
        quiet = torch.ones(4, device="mps")
    second.synchronize()
    assert quiet.tolist() == [1.0] * 4
    with pytest.raises(torch.AcceleratorError, match=TEXT):
        first.synchronize()
    first.synchronize()


def test_threads(library):
    found = []

    def work():
        with torch.mps.stream(torch.mps.Stream()):
            data = complain(library)
            try:
                data.cpu()
            except torch.AcceleratorError as error:
                found.append(str(error))
            found.append(data.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(item, str) and TEXT in item for item in found) == 4
    assert [item for item in found if isinstance(item, list)] == [[1.0] * 8] * 4


def test_the_first_of_many_records_counts(library):
    for _ in range(50):
        complain(library)
    with pytest.raises(torch.AcceleratorError, match=TEXT):
        torch.mps.synchronize()
    torch.mps.synchronize()
