"""What the backend promises and no other file provokes: memory that streams use, recycled events, copies at the edges, answers before first use."""

import re
import time

import pytest
import torch

import snippets

SLOW = """
kernel void slow(device float* x, constant uint& rounds, uint i [[thread_position_in_grid]]) {
  float sum = x[i];
  for (uint k = 0; k < rounds; ++k) { sum = sum + 1; }
  x[i] = sum;
}
"""
#: About a third of a second, in which the test's own next lines surely run.
ROUNDS = 200_000_000


@pytest.fixture(scope="module")
def slow():
    kernel = torch.mps.compile_shader(SLOW).slow
    kernel(torch.zeros(4, device="mps"), 1)
    torch.mps.synchronize()
    return kernel


# Memory


def test_memory_that_another_stream_uses_is_not_given_out_again(slow):
    stream = torch.mps.Stream()
    x = torch.zeros(1 << 18, device="mps")
    address, before = x.data_ptr(), torch.mps.current_allocated_memory()
    with torch.mps.stream(stream):
        slow(x, ROUNDS, threads=4)
    x.record_stream(stream)
    del x
    assert torch.empty(1 << 18, device="mps").data_ptr() != address
    stream.synchronize()
    torch.empty(1, device="mps")  # takes back what has become idle
    assert torch.mps.current_allocated_memory() < before


def test_waiting_for_memory_that_a_stream_uses(slow):
    stream = torch.mps.Stream()
    x = torch.zeros(1 << 18, device="mps")
    with torch.mps.stream(stream):
        slow(x, ROUNDS, threads=4)
    x.record_stream(stream)
    assert torch._C._mps_allocator_waitForEvents([x.data_ptr()]) is True
    assert stream.query()
    assert torch._C._mps_allocator_waitForEvents([x.data_ptr()]) is False
    assert x[:5].tolist() == [16777216.0] * 4 + [0.0]


@pytest.mark.parametrize("size", [1, 255, 257, 1 << 20, (1 << 20) + 1, 3_000_001, 20_000_001])
def test_counters_move_by_the_same_rounded_size_each_time(size):
    torch.mps.empty_cache()
    start = torch.mps.current_allocated_memory()
    tensors, deltas = [], []
    for _ in range(3):
        before = torch.mps.current_allocated_memory()
        tensors.append(torch.empty(size, dtype=torch.uint8, device="mps"))
        deltas.append(torch.mps.current_allocated_memory() - before)
    assert len(set(deltas)) == 1 and size <= deltas[0] <= max(256, size * 33 // 32 + 16384), deltas
    tensors.clear()
    assert torch.mps.current_allocated_memory() == start


def test_pinned_memory_counts_and_has_its_forms():
    before = torch.mps.current_allocated_memory()
    pinned = torch.empty(1 << 20, dtype=torch.uint8, pin_memory=True)
    assert pinned.is_pinned() and pinned.device.type == "cpu"
    assert torch.mps.current_allocated_memory() - before == 1 << 20
    del pinned
    assert torch.mps.current_allocated_memory() == before
    empty = torch.empty(0, pin_memory=True)
    assert empty.device.type == "cpu" and empty.data_ptr() == 0
    # The device's own factories pass over the wish.
    assert torch.ones(3, device="mps", pin_memory=True).device.type == "mps"


def test_peaks_are_counted_and_reset():
    accelerator = torch.accelerator
    torch.ones(1, device="mps")
    accelerator.reset_peak_memory_stats()
    before = accelerator.memory_allocated()
    x = torch.empty(2 << 20, dtype=torch.uint8, device="mps")
    del x
    assert accelerator.memory_allocated() == before
    assert accelerator.max_memory_allocated() == before + (2 << 20)
    assert accelerator.max_memory_reserved() >= accelerator.max_memory_allocated()
    stats = accelerator.memory_stats()
    assert stats["allocated_bytes.all.current"] == before and stats["allocated_bytes.all.freed"] >= 2 << 20
    accelerator.reset_accumulated_memory_stats()
    assert accelerator.memory_stats()["allocated_bytes.all.freed"] == 0
    accelerator.reset_peak_memory_stats()
    assert accelerator.max_memory_allocated() == before


def test_answers_before_the_first_use():
    code = """
        import torch
        torch.mps.synchronize()
        torch.accelerator.synchronize()
        torch.accelerator.empty_cache()
        print(torch.accelerator.memory_allocated(), torch.accelerator.memory_reserved(), torch.accelerator.max_memory_allocated())
        torch.accelerator.set_device_index(1)
        print(torch.accelerator.current_device_index(), torch.ones(1, device="mps").device)
    """
    assert snippets.output(code).splitlines() == ["0 0 0", "0 mps:0"]


# Streams


def test_synchronize_waits_for_all_streams(slow):
    streams = [torch.mps.Stream() for _ in range(3)]
    data = [torch.zeros(4, device="mps") for _ in streams]
    for stream, x in zip(streams, data, strict=True):
        with torch.mps.stream(stream):
            slow(x, 2_000_000)
    torch.mps.synchronize()
    assert all(stream.query() for stream in streams)
    for x in data:
        host = torch.empty(0).set_(torch.mps._host_alias_storage(x.untyped_storage()), 0, (4,))
        assert host.tolist() == [2_000_000.0] * 4


def test_streams_have_no_priority_and_no_context_class():
    assert torch.Stream(device="mps", priority=-1).device == torch.device("mps:0")
    assert not hasattr(torch.mps, "StreamContext")


def test_the_first_report_is_the_one_that_is_raised():
    kernel = torch.mps.compile_shader("""
        #include <c10/metal/error.h>
        kernel void complain(constant int& number, device c10::metal::ErrorMessages* errors) {
          TORCH_REPORT_ERROR(errors, "number ", number);
        }
    """).complain
    for number in range(40):
        kernel(number, threads=1, error_buf_idx=1)
    with pytest.raises(torch.AcceleratorError, match="number 0$|number 0\n") as caught:
        torch.mps.synchronize()
    assert isinstance(caught.value, RuntimeError) and caught.value.error_code == 1
    kernel(7, threads=1, error_buf_idx=1)
    with pytest.raises(torch.AcceleratorError, match="number 7"):
        torch.mps.synchronize()
    torch.mps.synchronize()


# Events


@pytest.mark.parametrize("name", ["record", "waitFor", "synchronize", "query", "release"])
def test_a_released_event_is_unknown(name):
    call = {"waitFor": "_mps_waitForEvent"}.get(name, f"_mps_{name}Event")
    number = torch._C._mps_acquireEvent(False)
    torch._C._mps_releaseEvent(number)
    with pytest.raises(RuntimeError, match=f"^Invalid Event ID: {number}$"):
        getattr(torch._C, call)(number)


def test_an_unknown_event_is_told_before_a_missing_clock():
    untimed = torch._C._mps_acquireEvent(False)
    for pair in ((untimed, 4000000), (4000000, untimed)):
        with pytest.raises(RuntimeError, match="^Invalid Event ID: 4000000$"):
            torch._C._mps_elapsedTimeOfEvents(*pair)
    torch._C._mps_releaseEvent(untimed)


def test_a_recycled_event_starts_anew():
    first = torch._C._mps_acquireEvent(True)
    torch._C._mps_recordEvent(first)
    torch._C._mps_synchronizeEvent(first)
    assert torch._C._mps_queryEvent(first) is True
    torch._C._mps_releaseEvent(first)
    again = torch._C._mps_acquireEvent(False)
    assert again == first and torch._C._mps_queryEvent(again) is False
    other = torch._C._mps_acquireEvent(True)
    with pytest.raises(RuntimeError, match="Events were not created with argument 'enable_timing=True'"):
        torch._C._mps_elapsedTimeOfEvents(again, other)
    for number in (other, again):
        torch._C._mps_releaseEvent(number)


def test_an_event_that_is_gone_gives_its_id_back():
    event = torch.mps.Event()
    number = event._Event__eventId
    del event
    assert torch._C._mps_acquireEvent(False) == number
    torch._C._mps_releaseEvent(number)


def test_elapsed_time_is_within_the_wall_clock(slow):
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    x = torch.zeros(4, device="mps")
    torch.mps.synchronize()
    began = time.perf_counter()
    start.record()
    slow(x, ROUNDS)
    end.record()
    elapsed = start.elapsed_time(end)
    wall = (time.perf_counter() - began) * 1e3
    assert 0 < elapsed <= wall


def test_an_event_moves_to_the_stream_that_records_it(slow):
    event = torch.Event("mps")
    first, second = torch.mps.Stream(), torch.mps.Stream()
    x, y = torch.zeros(4, device="mps"), torch.zeros(4, device="mps")
    with torch.mps.stream(first):
        event.record()
    event.synchronize()
    with torch.mps.stream(second):
        slow(x, ROUNDS)
        event.record()
    with torch.mps.stream(first):
        event.wait()
        y.copy_(x)
    assert y.tolist() == [16777216.0] * 4


def test_a_generic_event_gives_its_id_back():
    number = torch._C._mps_acquireEvent(False)
    torch._C._mps_releaseEvent(number)
    event = torch.Event("mps")
    assert event.query()  # never recorded, so nothing is left to wait for
    event.record()  # takes the id now
    taken = torch._C._mps_acquireEvent(False)
    assert taken != number
    event.synchronize()
    del event
    assert torch._C._mps_acquireEvent(False) == number
    for used in (number, taken):
        torch._C._mps_releaseEvent(used)


def test_a_generic_event_without_a_clock():
    first, second = torch.Event("mps"), torch.Event("mps")
    first.record()
    second.record()
    with pytest.raises((RuntimeError, ValueError), match="enable_timing"):
        first.elapsed_time(second)


# Fallback, dtypes, copies


def test_a_fallback_writes_into_its_arguments():
    code = """
        import torch
        x = torch.tensor([0.25, 0.5], device="mps")
        print(torch.ops.aten.logit_(x) is x, [round(value, 4) for value in x.tolist()])
        out = torch.empty(0, device="mps")
        print(torch.special.ndtri(torch.tensor([0.5, 0.5], device="mps"), out=out) is out, out.tolist(), out.device)
    """
    outcome = snippets.run(code, PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert outcome.stdout.splitlines() == ["True [-1.0986, 0.0]", "True [0.0, 0.0] mps:0"], outcome.stderr


def test_a_fallback_warns_each_time_when_asked_to():
    code = """
        import torch, warnings
        torch.set_warn_always(True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                torch.mode(torch.ones(2, device="mps"))
        print(sum("aten::mode' is not currently supported" in str(warning.message) for warning in caught))
    """
    assert snippets.output(code, PYTORCH_ENABLE_MPS_FALLBACK="1") == "3"


def test_wide_scalars_of_the_cpu_are_narrowed():
    x = torch.ones(3, device="mps")
    wide = torch.tensor(0.1, dtype=torch.float64)
    for result in (x * wide, x + wide, torch.maximum(x, wide), x.clone().mul_(wide)):
        assert result.dtype == torch.float32
    assert torch.equal((x * wide).cpu(), torch.ones(3) * wide)
    assert (x * torch.tensor(2j, dtype=torch.complex128)).dtype == torch.complex64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
def test_wide_types_are_reached_on_the_host(dtype):
    source = torch.tensor([[1.0, 0.0, 3.0], [0.0, 5.0, 7.0]]).to(dtype)
    x = source.to("mps")
    for view, expected in ((x, source), (x.t(), source.t()), (x[:, 1:], source[:, 1:])):
        assert torch.equal(view.to("cpu", torch.float64), expected.double())
        assert torch.equal(view.cpu().double(), expected.double())
        assert torch.equal(view.to("cpu", torch.complex128), expected.to(torch.complex128))
        assert torch.equal(view.to("cpu", torch.float64, non_blocking=True), expected.double())


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fnuz, torch.complex128])
def test_types_that_metal_has_not_are_kept_as_bytes(dtype):
    source = torch.tensor([1.0, -0.5, 3.0]).to(dtype)
    x = source.to("mps")
    assert x.dtype == dtype and torch.equal(x.cpu().view(torch.uint8), source.view(torch.uint8))
    assert torch.equal(x.to("cpu", torch.complex64), source.to(torch.complex64))
    assert torch.equal(torch.tensor([1.0, -0.5, 3.0]).to("mps", dtype).cpu().view(torch.uint8), source.view(torch.uint8))


def test_devices_compare_as_written():
    assert torch.device("mps") != torch.device("mps:0")
    assert torch.ones(1, device="mps").untyped_storage().mps().device == torch.device("mps:0")
    storage = torch.ones(1, device="mps").untyped_storage()
    assert storage.mps() is storage


def test_copies_of_nothing_and_into_nothing():
    x = torch.ones(3, device="mps")
    for source in (torch.empty(0), torch.empty(0, device="mps")):
        assert x[:0].copy_(source).numel() == 0
    assert x.copy_(x) is x and x.tolist() == [1.0] * 3
    assert torch.empty(0, device="mps").copy_(torch.arange(3.0)).tolist() == [0.0, 1.0, 2.0]


def test_a_pinned_source_at_an_odd_offset():
    pinned = torch.arange(100, dtype=torch.uint8).pin_memory()
    assert torch.equal(pinned[3:].to("mps", non_blocking=True).cpu(), torch.arange(3, 100, dtype=torch.uint8))


# Random numbers


def test_seeds_are_made_integers_and_devices_are_ignored():
    torch.mps.manual_seed(3.7)
    state = torch.mps.get_rng_state("anything")
    first = torch.rand(3, device="mps")
    torch.mps.manual_seed(3)
    assert torch.equal(torch.mps.get_rng_state(), state)
    torch.mps.set_rng_state(state, "anything")
    assert torch.equal(torch.rand(3, device="mps"), first)
    assert torch.mps.seed() is None


def test_a_new_generator_is_not_a_seeded_one():
    words = torch.Generator("mps").get_state()[:28].view(torch.int32).tolist()
    assert words == [1, 0, 0, 0, 0, 0, 0]
    seeded = torch.Generator("mps").manual_seed(67280421310721)
    assert seeded.initial_seed() == torch.Generator("mps").initial_seed()
    assert seeded.get_state()[:28].view(torch.int32).tolist()[:5] == [1] * 5


# Profiler, names, exchange


def test_a_profile_that_cannot_start_is_stopped():
    with pytest.raises(RuntimeError, match="Invalid Signpost trace mode: bad"), torch.mps.profiler.profile("event,bad"):
        pass
    torch.mps.profiler.start("event")
    torch.mps.profiler.stop()


def test_names_that_are_not_there():
    for name in ("_compile_shader", "current_device", "get_device_properties", "memory_stats", "is_initialized", "get_amp_supported_dtype"):
        assert not hasattr(torch.mps, name), name
    with pytest.raises(RuntimeError, match="^Failed to create function state object for: x$"):
        hasattr(torch.mps.compile_shader(""), "x")


def test_export_refuses_what_has_a_history():
    with pytest.raises(BufferError, match=re.escape("require gradient")):
        torch.ones(2, device="mps", requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="conj"):
        torch.ones(2, dtype=torch.complex64, device="mps").conj().__dlpack__()
    with pytest.raises(BufferError, match="layout"):
        torch.eye(2, device="mps").to_sparse().__dlpack__()


def test_autocast_takes_two_dtypes():
    with pytest.warns(UserWarning, match="In MPS autocast, but the target dtype is not supported. Disabling autocast."):
        region = torch.autocast("mps", dtype=torch.float32)
    with region:
        assert torch.mm(torch.eye(2, device="mps"), torch.eye(2, device="mps")).dtype == torch.float32
    x = torch.rand(2, 2, device="mps")
    with torch.autocast("mps"):
        assert torch.nn.functional.binary_cross_entropy(x, x).dtype == torch.float32
        assert torch.mm(x, x).dtype == torch.float16 and torch.exp(x.half()).dtype == torch.float32
        assert torch.cross(torch.ones(3, device="mps").half(), torch.ones(3, device="mps"), dim=0).dtype == torch.float32


def test_the_compilers_interface():
    from torch._dynamo.device_interface import get_interface_for_device

    interface = get_interface_for_device("mps")
    assert interface.is_bf16_supported() and interface.is_dtype_supported(torch.float32)
    assert not interface.is_dtype_supported(torch.float64) and not interface.is_dtype_supported(torch.complex128)
    assert interface.current_device() == 0
    assert interface.Worker.get_device_properties().multi_processor_count == torch.backends.mps.get_core_count()
