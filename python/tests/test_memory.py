"""Counters, the cache, the limits, and what out-of-memory looks like."""

import gc
import pathlib
import subprocess
import sys

import pytest
import torch

import snippets

MIB = 1 << 20


def _settle():
    gc.collect()
    torch.mps.synchronize()
    torch.mps.empty_cache()


def test_counters_before_and_after_empty_cache():
    _settle()
    current = torch.mps.current_allocated_memory()
    driver = torch.mps.driver_allocated_memory()
    assert driver >= current
    tensor = torch.empty(8 * MIB, dtype=torch.uint8, device="mps")
    assert torch.mps.current_allocated_memory() - current >= tensor.nbytes
    assert torch.mps.driver_allocated_memory() - driver >= tensor.nbytes
    del tensor
    assert torch.mps.current_allocated_memory() == current
    assert torch.mps.driver_allocated_memory() > driver  # The block is cached.
    _settle()
    assert torch.mps.current_allocated_memory() == current
    assert torch.mps.driver_allocated_memory() == driver


def test_empty_cache_leaves_live_tensors():
    tensor = torch.arange(100000, device="mps")
    torch.mps.empty_cache()
    torch.mps.empty_cache()
    assert torch.equal(tensor.cpu(), torch.arange(100000))


def test_a_freed_block_is_reused():
    first = torch.empty(3 * MIB, dtype=torch.uint8, device="mps")
    address = first.data_ptr()
    del first
    second = torch.empty(3 * MIB, dtype=torch.uint8, device="mps")
    assert second.data_ptr() == address


def test_recommended_maximum():
    recommended = torch.mps.recommended_max_memory()
    assert recommended == torch.mps.recommended_max_memory() > 0
    assert torch._C._mps_maxBufferLength() > 0


@pytest.mark.parametrize("fraction", [1, 0, True, "0.5", None])
def test_fraction_must_be_a_float(fraction):
    with pytest.raises(TypeError, match="Invalid type for fraction argument, must be `float`"):
        torch.mps.set_per_process_memory_fraction(fraction)


@pytest.mark.parametrize("fraction", [-0.1, 2.1, float("inf")])
def test_fraction_must_be_in_range(fraction):
    with pytest.raises(ValueError) as caught:
        torch.mps.set_per_process_memory_fraction(fraction)
    assert str(caught.value) == f"Invalid fraction value: {fraction}. Allowed range: 0~2"


_OUT_OF_MEMORY = """
    import sys, torch
    torch.mps.set_per_process_memory_fraction(float(sys.argv[1]))
    keep = torch.ones(4 << 20, dtype=torch.uint8, device="mps")
    try:
        torch.empty(int(sys.argv[2]), dtype=torch.uint8, device="mps")
        print("allocated")
    except RuntimeError as error:
        print(type(error).__name__, error)
    # The process lives and what fits is still served.
    print((keep.max().item(), torch.ones(16, device="mps").sum().item()))
"""
_RECOMMENDED = {"OPENMPS_RECOMMENDED_MAX_MEMORY": str(64 * MIB)}


def test_out_of_memory_text_with_a_limit():
    result, alive = snippets.output(_OUT_OF_MEMORY, "0.5", str(48 * MIB), **_RECOMMENDED).splitlines()
    assert result == (
        "RuntimeError MPS backend out of memory (MPS allocated: 16.00 MiB, other allocations: 0 bytes, max allowed: 32.00 MiB). "
        "Tried to allocate 48.00 MiB on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for "
        "memory allocations (may cause system failure)."
    )
    assert alive == "(1, 16.0)"


def test_the_limit_counts_cached_memory_only_until_it_can_be_released():
    code = """
        import torch
        torch.mps.set_per_process_memory_fraction(0.5)
        for _ in range(20):
            x = torch.ones(20 << 20, dtype=torch.uint8, device="mps")
            del x
        print(torch.ones(24 << 20, dtype=torch.uint8, device="mps").max().item())
    """
    assert snippets.output(code, **_RECOMMENDED) == "1"


def test_fraction_zero_is_unlimited():
    result, alive = snippets.output(_OUT_OF_MEMORY, "0.0", str(200 * MIB), **_RECOMMENDED).splitlines()
    assert (result, alive) == ("allocated", "(1, 16.0)")


def test_a_buffer_over_the_maximum_length():
    length = torch._C._mps_maxBufferLength()
    with pytest.raises(RuntimeError) as caught:
        torch.empty(length + MIB, dtype=torch.uint8, device="mps")
    assert str(caught.value).startswith("Invalid buffer size: ")
    assert torch.ones(4, device="mps").sum().item() == 4


def test_pinned_host_memory():
    pinned = torch.empty(1000).pin_memory()
    assert pinned.is_pinned() and pinned.device.type == "cpu"
    assert not torch.empty(1000).is_pinned()
    pinned.copy_(torch.arange(1000.0))
    assert torch.equal(pinned.to("mps", non_blocking=True).cpu(), torch.arange(1000.0))
    with pytest.raises(RuntimeError, match="cannot pin 'MPSFloatType' only dense CPU tensors can be pinned"):
        torch.ones(2, device="mps").pin_memory()


def test_record_stream_takes_streams_of_the_device_only():
    tensor = torch.ones(4, device="mps")
    with pytest.raises(RuntimeError, match="^Expected a MPS stream, but got one of cpu"):
        tensor.record_stream(torch.Stream("cpu"))
    tensor.record_stream(torch.mps.current_stream())
    assert tensor.sum().item() == 4


def test_record_stream_defers_reuse():
    stream = torch.mps.Stream()
    tensor = torch.ones(1 << 20, device="mps")
    tensor.record_stream(stream)
    with torch.mps.stream(stream):
        doubled = tensor * 2
    del tensor
    stream.synchronize()
    assert doubled.sum().item() == 2 << 20


def test_wait_for_events_takes_addresses():
    tensor = torch.ones(16, device="mps")
    assert torch._C._mps_allocator_waitForEvents([tensor.data_ptr()]) is False
    assert torch._C._mps_allocator_waitForEvents([]) is False


def test_nothing_is_left_of_mixed_ops():
    soak = pathlib.Path(__file__).parents[1] / "benchmarks/soak.py"
    done = subprocess.run([sys.executable, "-W", "ignore", soak, "15000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
