"""Traces of the profiler, read by Perfetto's own definitions."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch

import snippets
import traces

_INTERVALS = {"PyTorchOperationIntervals", "PyTorchCopyIntervals", "PyTorchCPUFallbackIntervals"}
_EVENTS = {"PyTorchOperationEvents", "PyTorchCopyEvents", "PyTorchCPUFallbacksEvents"}

#: One of each: an operator, a copy, a fallback, a kernel.
_WORK = """
    import torch, warnings
    warnings.simplefilter("ignore")
    lib = torch.mps.compile_shader('''
    kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 2 * x[i]; }
    ''')
    def work():
        x = torch.ones(64, device="mps")
        lib.twice(x, group_size=32)
        y = x + x
        torch.linalg.eigvals(torch.eye(3, device="mps"))
        return y.cpu()
"""


def _run(code: str, folder: pathlib.Path, work: str = _WORK, **environment: str) -> tuple[traces.Trace, snippets.Outcome]:
    """Runs ``_WORK`` and `code`, which must write one trace; returns it."""
    outcome = snippets.run(
        textwrap.dedent(work) + textwrap.dedent(code),
        OPENMPS_TRACE_DIR=str(folder),
        PYTORCH_ENABLE_MPS_FALLBACK="1",
        **environment,
    )
    assert outcome.code == 0, outcome.stderr
    (file,) = folder.iterdir()
    assert outcome.stderr.count(f"openmps: writing a trace to {file}\n") == 1
    trace = traces.read(file)
    assert trace.rest == b""
    return trace, outcome


def _modes(mode: str) -> str:
    return f"""
        with torch.mps.profiler.profile({mode!r}):
            work()
    """


@pytest.mark.parametrize(
    ("mode", "names"), [("interval", _INTERVALS), ("event", _EVENTS), ("interval,event", _INTERVALS | _EVENTS)]
)
def test_every_mode_has_its_signposts(tmp_path, mode, names):
    trace, _ = _run(_modes(mode), tmp_path)
    assert trace.categories() & (_INTERVALS | _EVENTS) == names
    assert all(one.end_ns is not None and one.end_ns >= one.begin_ns for one in trace.slices)


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (1, _EVENTS),
        (2, _INTERVALS),
        (8, _INTERVALS),
        (1 << 16, {"PyTorchOperationIntervals"}),
        (1 << 17, {"PyTorchCopyIntervals"}),
        (1 << 18, {"PyTorchCPUFallbackIntervals"}),
        (1 << 16 | 32 | 4, {"PyTorchOperationEvents"}),
        (1 << 17 | 16 | 32, {"PyTorchCopyIntervals", "PyTorchCopyEvents"}),
        (1 << 18 | 32, {"PyTorchCPUFallbacksEvents"}),
    ],
)
def test_every_bit_of_the_environment_variable(tmp_path, mask, names):
    trace, _ = _run("work()", tmp_path, PYTORCH_MPS_TRACE_SIGNPOSTS=str(mask))
    assert trace.categories() & (_INTERVALS | _EVENTS) == names


def test_messages_tracks_flows_and_counters(tmp_path):
    trace, _ = _run(_modes("interval,event"), tmp_path)
    assert {"mps stream 0", "mps queue 0"} <= set(trace.tracks.values())
    operations = trace.of("PyTorchOperationIntervals")
    assert {one.track for one in operations} == {"mps stream 0"}
    by_name = {one.name: one for one in operations}
    assert by_name["add.Tensor"].arguments["message"] == "aten::add.Tensor:MPS:Float[64]:MPS:Float[64] (id=G2, run=1)"
    twice = by_name["twice"]
    # The first launch from a source has its text.
    assert "kernel void twice(device float* x" in twice.arguments.pop("source_text") and twice.arguments.pop("library") == 1
    assert twice.arguments == {
        "grid": "64x1x1",
        "group": "32x1x1",
        "source": "program_source",
        "message": "aten::twice:MPS:Float[64] (id=K1, run=1)",
    }
    (copy,) = trace.of("PyTorchCopyIntervals")
    assert copy.arguments["id"] == 1
    assert copy.arguments["message"] == "BlitCopySync: MPS:Float[64] --> CPU:Float[64] (len=256 bytes)"
    (fallback,) = trace.of("PyTorchCPUFallbackIntervals")
    text = "CPU Fallback::aten::linalg_eigvals:MPS:Float[3, 3]:MPS:Float[3, 3] (id=1, run=1, CopyOverhead=72 bytes)"
    assert fallback.arguments["message"].replace("_linalg", "linalg") == text

    # An event is at the end of its interval, and tells how long it took.
    (event,) = [one for one in trace.of("PyTorchOperationEvents") if one.name == "add.Tensor"]
    assert event.begin_ns == by_name["add.Tensor"].end_ns
    assert event.arguments["message"].startswith("aten::add.Tensor:MPS:Float[64]:MPS:Float[64] (id=G2, run=1")

    # From the host's call over the queue to the stream.
    flows = {one.track for one in trace.slices + trace.instants if one.flows & twice.flows}
    (host,) = [one for one in trace.of("host") if one.name == "twice"]
    assert flows == {host.track, "mps queue 0", "mps stream 0"} and len(flows) == 3
    assert host.begin_ns <= twice.begin_ns
    for one in operations:
        (call,) = [call for call in trace.of("host") if call.flows & one.flows]
        assert call.name == one.name and call.begin_ns <= one.begin_ns

    counters = {one.track: one.value for one in trace.counters}
    assert set(counters) == {
        "mps allocated",
        "mps driver allocated",
        "mps peak allocated",
        "mps small pool",
        "mps large pool",
        "mps scalar pool",
        "mps low watermark",
        "mps high watermark",
    }
    assert counters["mps low watermark"] < counters["mps high watermark"]
    pools = [counters[f"mps {pool} pool"] for pool in ("small", "large", "scalar")]
    assert sum(pools) == counters["mps allocated"] and pools[1:] == [0, 0]
    allocated = [one.value for one in trace.counters if one.track == "mps allocated"]
    assert 0 < max(allocated) <= counters["mps peak allocated"] <= counters["mps driver allocated"]


def test_a_kernel_that_waits_behind_another(tmp_path):
    code = """
        slow = torch.mps.compile_shader('''
        kernel void slow(device int* x, uint i [[thread_position_in_grid]]) {
            int sum = 0; for (int n = 0; n < 300000; n++) sum = sum * 31 + x[i]; x[i] = sum; }
        ''')
        x = torch.ones(64, dtype=torch.int32, device="mps")
        torch.mps.synchronize()
        slow.slow(x)
        slow.slow(x)
        torch.mps.synchronize()
    """
    for mask, overlaps in [(2, False), (8, True)]:
        folder = tmp_path / str(mask)
        trace, _ = _run(code, folder, PYTORCH_MPS_TRACE_SIGNPOSTS=str(mask))
        first, second = [one for one in trace.of("PyTorchOperationIntervals") if one.name == "slow"]
        assert (second.begin_ns < first.end_ns) is overlaps, "scheduling is part of an interval only if asked for"
        assert (second.arguments["message"]) == "aten::slow:MPS:Int[64] (id=K1, run=2)"
        assert any(one.name == "synchronize" for one in trace.of("host"))


def test_streams_and_threads_have_their_tracks(tmp_path):
    code = """
        import threading
        def other():
            with torch.mps.stream(torch.mps.Stream(stream_id=3)):
                x = torch.ones(64, device="mps")
                lib.twice(x)
                torch.mps.current_stream().synchronize()
                x + x
        with torch.mps.profiler.profile():
            threads = [threading.Thread(target=other) for _ in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            work()
    """
    trace, _ = _run(code, tmp_path)
    tracks = list(trace.tracks.values())
    assert tracks.count("mps stream 0") == tracks.count("mps queue 0") == tracks.count("mps queue 3") == 1
    assert "mps stream 3" in tracks
    adds = [one for one in trace.of("PyTorchOperationIntervals") if one.name == "add.Tensor"]
    assert sorted(one.track for one in adds) == ["mps stream 0", "mps stream 3", "mps stream 3"]


def test_a_second_trace_has_its_own_file(tmp_path):
    code = """
        for _ in range(2):
            with torch.mps.profiler.profile():
                torch.ones(4, device="mps") + 1
        torch.ones(4, device="mps") * 2
    """
    assert snippets.run("import torch\n" + textwrap.dedent(code), OPENMPS_TRACE_DIR=str(tmp_path)).code == 0
    both = [traces.read(file) for file in sorted(tmp_path.iterdir())]
    assert len(both) == 2
    names = [[one.name for one in trace.of("PyTorchOperationIntervals")] for trace in both]
    assert names[0] == names[1] and names[0][-1] == "add.Tensor"


def test_a_forked_child_has_its_own_file(tmp_path):
    code = """
        import os
        torch.mps.profiler.start()
        work()
        child = os.fork()
        if child == 0:
            torch.ones(4, device="mps") * 2
            torch.mps.profiler.stop()
            os._exit(0)
        os.waitpid(child, 0)
        torch.ones(4, device="mps") + 1
        torch.mps.profiler.stop()
        print(os.getpid(), child)
    """
    outcome = snippets.run(
        textwrap.dedent(_WORK) + textwrap.dedent(code),
        OPENMPS_TRACE_DIR=str(tmp_path),
        PYTORCH_ENABLE_MPS_FALLBACK="1",
    )
    assert outcome.code == 0, outcome.stderr
    parent, child = (
        traces.read(next(tmp_path.glob(f"openmps-{number}-*"))) for number in outcome.stdout.split()
    )
    assert [one.name for one in child.of("PyTorchOperationIntervals")][-1] == "mul.Tensor"
    assert len(child.of("PyTorchCPUFallbackIntervals")) == 0 and len(parent.of("PyTorchCPUFallbackIntervals")) == 1


def test_kill_loses_little(tmp_path):
    code = """
        import sys, time, torch
        torch.mps.profiler.start()
        x = torch.ones(8, device="mps")
        number = 0
        while True:
            x = x + 1
            number += 1
            if number % 10 == 0: print(number, time.clock_gettime_ns(time.CLOCK_BOOTTIME), flush=True)
            time.sleep(0.001)
    """
    environment = {**os.environ, "OPENMPS_TRACE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    lines = [process.stdout.readline()]
    began = int(lines[0].split()[1])
    while int(lines[-1].split()[1]) < began + 2_000_000_000:
        lines.append(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (file,) = tmp_path.iterdir()
    trace = traces.read(file)
    adds = [one for one in trace.of("PyTorchOperationIntervals") if one.name == "add.Tensor"]
    killed = int(lines[-1].split()[1])
    assert adds[-1].begin_ns > killed - 1_000_000_000, "at most the last second is lost"
    # Cut off anywhere, the rest can be read.
    data = file.read_bytes()
    for cut in range(len(data) - 300, len(data), 11):
        assert len(traces.read(data[:cut]).slices) >= len(trace.slices) - 20


def _unwritable(code: str, **environment: str) -> str:
    """Standard error of a program whose trace cannot be written, and which must go on."""
    outcome = snippets.run(code + "\nprint((x + 1).sum().item(), flush=True)", **environment)
    assert (outcome.code, outcome.stdout) == (0, "16.0\n"), outcome.stderr
    return outcome.stderr


_TRACED = textwrap.dedent("""
    import torch, time, resource
    x = torch.ones(8, device="mps")
    LIMIT
    torch.mps.profiler.start("interval,event")
    for _ in range(300):
        x + 1
        time.sleep(0.002)
    torch.mps.profiler.stop()
""")


@pytest.mark.parametrize("folder", ["/dev/full", "/dev/full/below", "/proc/self/none"])
def test_an_unwritable_folder_is_told_about_once(folder):
    stderr = _unwritable(_TRACED.replace("LIMIT", ""), OPENMPS_TRACE_DIR=folder)
    assert stderr.count("\n") == 1
    assert stderr.startswith(f"openmps: no trace can be written to {folder}: ")


def test_a_full_disk_is_told_about_once(tmp_path):
    limited = _TRACED.replace("LIMIT", "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))")
    stderr = _unwritable(limited, OPENMPS_TRACE_DIR=str(tmp_path))
    (file,) = tmp_path.iterdir()
    assert stderr.splitlines() == [
        f"openmps: writing a trace to {file}",
        f"openmps: no trace can be written to {file}: File too large (os error 27)",
    ]
    trace = traces.read(file)
    assert trace.rest == b"" and file.stat().st_size <= 20_000 and len(trace.slices) > 0


def test_events_come_once_however_the_program_ends(tmp_path):
    code = """
        torch.mps.profiler.start("interval,event")
        work()
        lib.twice(torch.ones(64, device="mps"))
        raise SystemExit(3)
    """
    outcome = snippets.run(textwrap.dedent(_WORK) + textwrap.dedent(code), OPENMPS_TRACE_DIR=str(tmp_path), PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert outcome.code == 3
    trace = traces.read(next(tmp_path.iterdir()))
    assert len(trace.of("PyTorchOperationEvents")) == len(trace.of("PyTorchOperationIntervals")) > 3
    assert [one.name for one in trace.of("PyTorchOperationEvents")].count("twice") == 2


def test_an_exception_inside_of_an_operator_closes_it(tmp_path):
    code = """
        with torch.mps.profiler.profile():
            try:
                torch.ones(2, 3, device="mps") @ torch.ones(2, 3, device="mps")
            except RuntimeError:
                pass
            torch.ones(2, device="mps") + 1
    """
    trace, _ = _run(code, tmp_path)
    assert [one.name for one in trace.of("PyTorchOperationIntervals")][-1] == "add.Tensor"
    assert all(one.end_ns is not None for one in trace.slices)


def test_scalar_types_have_pytorchs_names(tmp_path):
    dtypes = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.bool]
    dtypes += [torch.bfloat16, torch.complex64, torch.uint16, torch.uint32, torch.uint64]
    code = f"""
        with torch.mps.profiler.profile():
            for dtype in {dtypes}:
                torch.zeros(2, 3, dtype=dtype, device="mps").cpu()
    """
    trace, _ = _run(code, tmp_path)
    texts = [one.arguments["message"].split(" (")[0] for one in trace.of("PyTorchCopyIntervals")]
    # The names in PyTorch's own messages.
    names = [torch.empty(0, dtype=dtype).type().split(".")[-1].removesuffix("Tensor") for dtype in dtypes]
    assert texts == [f"BlitCopySync: MPS:{name}[2, 3] --> CPU:{name}[2, 3]" for name in names]


def test_time_does_not_stand_still(tmp_path):
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    trace, _ = _run(_modes("interval"), tmp_path)
    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert all(before < one.begin_ns < after for one in trace.slices)
