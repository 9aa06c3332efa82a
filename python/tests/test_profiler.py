"""Profiler and capture entry points: modes, errors, states."""

import json

import pytest
import torch

import snippets


@pytest.fixture(autouse=True)
def _stopped():
    yield
    torch.mps.profiler.stop()


@pytest.mark.parametrize("mode", ["interval", "event", "interval,event", " Interval , EVENT ", "", ",interval,"])
@pytest.mark.parametrize("wait", [False, True])
def test_modes(mode, wait):
    torch.mps.profiler.start(mode, wait)
    assert (torch.ones(4, device="mps") + 1).sum().item() == 8
    torch.mps.profiler.stop()
    torch.mps.profiler.stop()


def test_context_manager():
    with torch.mps.profiler.profile(mode="event", wait_until_completed=True):
        torch.ones(4, device="mps").mul_(3)
    with torch.mps.profiler.profile():
        torch.ones(4, device="mps").mul_(3)


def test_unknown_mode():
    with pytest.raises(RuntimeError, match="^Invalid Signpost trace mode: nonsense$"):
        torch.mps.profiler.start("nonsense")
    torch.mps.profiler.start("interval")


def test_started_twice():
    torch.mps.profiler.start()
    with pytest.raises(RuntimeError) as caught:
        torch.mps.profiler.start()
    assert str(caught.value) == "Tracing Signposts is already enabled "


def test_a_bad_mode_may_leave_tracing_on():
    with pytest.raises(RuntimeError, match="Invalid Signpost trace mode: x"):
        torch.mps.profiler.start("event,x")
    with pytest.raises(RuntimeError, match="Tracing Signposts is already enabled"):
        torch.mps.profiler.start("event")


def test_capture_is_off_by_default():
    assert torch.mps.profiler.is_metal_capture_enabled() is False
    assert torch.mps.profiler.is_capturing_metal() is False


def test_capture_without_the_variable_fails_and_the_process_goes_on():
    code = """
        import torch
        try:
            with torch.mps.profiler.metal_capture("trace"):
                pass
        except RuntimeError as error:
            print(str(error).startswith("Failed to start capture of "), torch.mps.profiler.is_capturing_metal())
        print(torch.ones(2, device="mps").sum().item())
    """
    assert snippets.output(code).splitlines() == ["True False", "2.0"]


def test_torch_profiler_sees_ops():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.ones(8, 8, device="mps") @ torch.ones(8, 8, device="mps")
    assert "aten::mm" in {event.key for event in profile.key_averages()}


def test_torch_profiler_of_a_training_step(tmp_path):
    # As on a Mac there is no device timeline: host events only, which have the shapes of what they worked on.
    assert torch.profiler.supported_activities() == {torch.profiler.ProfilerActivity.CPU}
    model = torch.nn.Linear(4, 3).to("mps")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.profiler.profile(record_shapes=True, profile_memory=True) as profile:
        for _ in range(3):
            with torch.profiler.record_function("step"):
                model(torch.ones(2, 4, device="mps")).sum().backward()
                optimizer.step()
            profile.step()
    found = {event.key: event for event in profile.key_averages(group_by_input_shape=True)}
    assert found["step"].count == 3 and found["aten::addmm"].count == 3
    assert found["aten::addmm"].input_shapes[:3] == [[3], [2, 4], [4, 3]]
    assert found["aten::addmm"].self_device_time_total == 0 < found["aten::addmm"].self_cpu_time_total
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert {"aten::addmm", "AddmmBackward0"} <= {event.get("name") for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}


CAPTURE = """
    import os, sys, warnings
    import torch

    SOURCE = '''
    kernel void scale(device float* x [[buffer(0)]], constant float& k [[buffer(1)]], uint i [[thread_position_in_grid]]) {
      x[i] *= k;
    }'''
    library = torch.mps.compile_shader(SOURCE)
    x = torch.rand(100_000, device="mps")
"""


def test_a_capture_holds_sources_ops_and_contents_once(tmp_path):
    code = CAPTURE + f"""
    with torch.mps.profiler.metal_capture({str(tmp_path / "one")!r}):
        assert torch.mps.profiler.is_capturing_metal()
        for _ in range(3):
            library.scale(x, 1.0)
        y = x + x
    library.scale(x, 2.0)
    assert not torch.mps.profiler.is_capturing_metal()
    print(torch.equal(x, y))
    """
    assert snippets.output(code, MTL_CAPTURE_ENABLED="1").split() == ["True"]
    folder = tmp_path / "0000-one.gputrace"
    index = (folder / "index.log").read_bytes()
    assert index.startswith(b"openmps capture\n\x01\0\0\0")
    assert index.count(b"thread_position_in_grid") == 1, "one pipeline"
    assert index.count(b"aten::add.Tensor") == 1 and b"MPS:Float[100000]" in index
    # Three launches that change nothing: 400 kB are stored once, and random numbers do not compress.
    assert 300_000 < (folder / "contents.zst").stat().st_size < 500_000


def test_a_capture_that_cannot_go_on_warns(tmp_path):
    code = CAPTURE + f"""
    warnings.simplefilter("always")
    with warnings.catch_warnings(record=True) as caught:
        with torch.mps.profiler.metal_capture({str(tmp_path / "small")!r}):
            library.scale(x, 2.0)
    print(caught[-1].category.__name__, caught[-1].message)
    with torch.mps.profiler.metal_capture({str(tmp_path / "missing/small")!r}):
        pass
    """
    process = snippets.run(code, MTL_CAPTURE_ENABLED="1", OPENMPS_CAPTURE_LIMIT="100000")
    name = tmp_path / "0000-small.gputrace"
    assert process.stdout.strip() == (
        f"RuntimeWarning capture {name} is not complete: recording stopped at the limit of 100000 bytes, "
        "OPENMPS_CAPTURE_LIMIT sets another"
    )
    error = f"RuntimeError: Failed to start capture of {tmp_path}/missing/0001-small.gputrace error No such file or directory"
    assert error in process.stderr
    assert sum(path.stat().st_size for path in name.iterdir()) < 101_000
