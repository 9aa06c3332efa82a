"""Profiler and capture entry points: modes, errors, states."""

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
