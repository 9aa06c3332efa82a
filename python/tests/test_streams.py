"""torch.mps.Stream and the generic torch.Stream on the device."""

import threading

import pytest
import torch

import snippets

_ADD = "kernel void add(device float* x, constant float& y, uint i [[thread_position_in_grid]]) { x[i] += y; }"


def test_default_and_current():
    assert torch.mps.current_stream() == torch.mps.default_stream()
    assert torch.mps.default_stream().stream_id == 0
    assert repr(torch.mps.default_stream()) == "<torch.mps.Stream stream_id=0>"
    assert torch.mps.default_stream().device == torch.device("mps:0")


def test_pool_is_round_robin():
    code = """
        import torch
        print([torch.mps.Stream().stream_id for _ in range(33)] == [*range(1, 33), 1])
    """
    assert snippets.output(code) == "True"


def test_equality_by_id():
    first, second = torch.mps.Stream(stream_id=3), torch.mps.Stream(stream_id=3)
    assert first == second and hash(first) == hash(second) and first is not second
    assert first != torch.mps.Stream(stream_id=4)
    assert isinstance(first, torch.Stream) and isinstance(first, torch._C._MPSStreamBase)
    assert issubclass(torch.mps.Stream, torch._C._MPSStreamBase)


@pytest.mark.parametrize("stream_id", [33, -2, 1000, 2**40])
def test_ids_out_of_range(stream_id):
    with pytest.raises(RuntimeError, match=f"stream_id={stream_id} not found"):
        torch.mps.Stream(stream_id=stream_id)


def test_argument_errors():
    with pytest.raises(TypeError):
        torch.mps.Stream("mps")
    with pytest.raises(TypeError):
        torch.mps.Stream(priority=1)
    with pytest.raises(TypeError):
        torch.mps.Stream(stream_id=1.5)
    with pytest.raises(TypeError):
        torch._C._mps_setStream("mps")


def test_context_manager_restores():
    stream = torch.mps.Stream()
    with torch.mps.stream(stream):
        assert torch.mps.current_stream() == stream
        with torch.mps.stream(None):
            assert torch.mps.current_stream() == stream
        with pytest.raises(ZeroDivisionError), torch.mps.stream(torch.mps.Stream()):
            1 / 0
        assert torch.mps.current_stream() == stream
    assert torch.mps.current_stream() == torch.mps.default_stream()


def test_set_stream():
    stream = torch.mps.Stream()
    torch.mps.set_stream(stream)
    try:
        torch.mps.set_stream(None)
        assert torch.mps.current_stream() == stream
    finally:
        torch.mps.set_stream(torch.mps.default_stream())


def test_streams_are_thread_local():
    seen = []
    with torch.mps.stream(torch.mps.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.mps.current_stream().stream_id))
        thread.start()
        thread.join()
    assert seen == [0]


def test_work_on_a_stream_is_done_after_synchronize():
    lib = torch.mps.compile_shader(_ADD)
    stream = torch.mps.Stream()
    x = torch.zeros(10000, device="mps")
    torch.mps.synchronize()
    with torch.mps.stream(stream):
        for _ in range(20):
            lib.add(x, 1.0)
        x.mul_(2)
    stream.synchronize()
    assert stream.query()
    assert (x == 40).all()


def test_wait_stream_orders_two_streams():
    lib = torch.mps.compile_shader(_ADD)
    first, second = torch.mps.Stream(), torch.mps.Stream()
    x = torch.zeros(50000, device="mps")
    torch.mps.synchronize()
    with torch.mps.stream(first):
        for _ in range(10):
            lib.add(x, 1.0)
    second.wait_stream(first)
    with torch.mps.stream(second):
        y = x * 3
    second.synchronize()
    assert (y == 30).all()


def test_generic_stream():
    stream = torch.Stream(device="mps")
    assert stream.device == torch.device("mps:0") and 1 <= stream.stream_id <= 32
    with stream:
        assert torch.mps.current_stream().stream_id == stream.stream_id
        x = torch.ones(10, device="mps") + 1
    stream.synchronize()
    assert torch.mps.current_stream().stream_id == 0
    assert x.sum().item() == 20
    assert torch.accelerator.current_stream() == torch.mps.default_stream()


def test_accelerator_set_stream():
    stream = torch.mps.Stream()
    torch.accelerator.set_stream(stream)
    try:
        assert torch.mps.current_stream() == stream
    finally:
        torch.accelerator.set_stream(torch.mps.default_stream())
