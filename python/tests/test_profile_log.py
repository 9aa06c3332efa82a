"""PYTORCH_MPS_LOG_PROFILE_INFO and PYTORCH_DEBUG_MPS_ALLOCATOR: each bit, to the letter; times and addresses are masked."""

import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest

import snippets

_WORK = """
    import torch, warnings
    warnings.simplefilter("ignore")
    lib = torch.mps.compile_shader('''
    kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 2 * x[i]; }
    ''')
    x = torch.ones(2, 3, device="mps")
    for _ in range(2):
        y = x + x
        lib.twice(x)
        torch.mps.synchronize()
    z = y.clone()
    z.cpu()
    y[0, 0].item()
    torch.linalg.eigvals(torch.eye(3).to("mps"))
"""


def _masked(text: str) -> list[str]:
    text = re.sub(r"\d+\.\d{3} ms", "# ms", text)
    text = re.sub(r"\d+\.\d{2} ms", "# ms", text)
    return text.splitlines()


def _log(mask: int, code: str = _WORK) -> list[str]:
    outcome = snippets.run(code, PYTORCH_MPS_LOG_PROFILE_INFO=str(mask), PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert (outcome.code, outcome.stdout) == (0, "")
    return _masked(outcome.stderr.replace("_linalg_eigvals", "linalg_eigvals"))


_OPERATIONS = [
    "aten::fill_.Scalar:MPS:Float[2, 3] (id=G1, run=1)",
    "aten::add.Tensor:MPS:Float[2, 3]:MPS:Float[2, 3] (id=G2, run=1)",
    "aten::twice:MPS:Float[2, 3] (id=K1, run=1)",
    "aten::add.Tensor:MPS:Float[2, 3]:MPS:Float[2, 3] (id=G2, run=2)",
    "aten::twice:MPS:Float[2, 3] (id=K1, run=2)",
]
_COPIES = [
    "MemCopySync: MPS:Float[2, 3] --> MPS:Float[2, 3] (len=24 bytes)",
    "BlitCopySync: MPS:Float[2, 3] --> CPU:Float[2, 3] (len=24 bytes)",
    "BlitCopySync: MPS:Float[] --> CPU:Float[] (len=4 bytes)",
    "BlitCopySync: CPU:Float[3, 3] --> MPS:Float[3, 3] (len=36 bytes)",
]
_FALLBACK = "CPU Fallback::aten::linalg_eigvals:MPS:Float[3, 3]:MPS:Float[3, 3] (id=1, run=1, CopyOverhead=72 bytes)"


def _with_times(line: str, times: str) -> str:
    return line[:-1] + times + ")"


def test_operations():
    assert [line for line in _log(1) if not line.startswith("aten::view")][: len(_OPERATIONS)] == _OPERATIONS


def test_copies():
    assert _log(2) == _COPIES


def test_fallbacks():
    assert _log(4) == [_FALLBACK]


def test_gpu_time_moves_lines_to_the_end():
    lines = _log(1 | 2 | 4 | 128)
    blits = [_with_times(line, ", gpu=# ms") for line in _COPIES[1:]]
    expected = [_with_times(_COPIES[0], ", cpu=# ms"), *blits, _with_times(_FALLBACK, ", cpu=# ms")]
    assert [line for line in lines if "Copy" in line] == expected
    operations = [line for line in lines if line.startswith("aten::")]
    assert operations[: len(_OPERATIONS)] == [_with_times(line, ", gpu=# ms") for line in _OPERATIONS]


def test_kernel_time_is_told_apart():
    lines = [line for line in _log(1 | 256) if "twice" in line]
    assert lines == [_with_times(line, ", gpu=# ms, cpu=# ms") for line in _OPERATIONS if "twice" in line]


def test_buffer_ids():
    lines = [re.sub(r"buf#\d+:\d+", "buf#N:R", line) for line in _log(1 | 2 | 512)]
    assert "aten::add.Tensor:MPS(buf#N:R):Float[2, 3]:MPS(buf#N:R):Float[2, 3] (id=G2, run=1)" in lines
    assert "aten::twice:MPS(buf#N:R):Float[2, 3] (id=K1, run=2)" in lines
    assert "BlitCopySync: MPS(buf#N:R):Float[2, 3] --> CPU:Float[2, 3] (len=24 bytes)" in lines


def _columns(line: str, *widths: int) -> list[str]:
    """The cells of a row of a table, whose widths must be these."""
    cells, at = [], 0
    for width in widths:
        cell = line[at : at + width]
        left = len(cell) - len(cell.lstrip())
        assert left == (width - len(cell.strip())) // 2, f"{cell!r} is not centred"
        cells.append(cell.strip())
        at += width
    return [*cells, line[at:]]


def test_the_table_of_operations():
    lines = _log(16)
    assert lines[0] == ""
    title = re.fullmatch(r"-+( MPS Operations Profiling: \d+ graphs, 1 kernels )-+", lines[1])
    assert len(lines[1]) == 200 and title
    assert lines[2] == "  ID  | #Runs | Mean KRNL(ms) | Mean GPU(ms) | Total GPU(ms) | Operation Name"
    assert lines[3] == "-" * 200
    rows = [_columns(line, 7, 8, 16, 15, 16) for line in lines[4:]]
    assert {row[0]: row[1] for row in rows}["K1"] == "2"
    assert [row[5] for row in rows if row[0] == "G2"] == [" add.Tensor:MPS:Float[2, 3]:MPS:Float[2, 3]"]
    means = [float(row[3]) for row in rows]
    assert means == sorted(means, reverse=True)


def test_the_table_of_fallbacks():
    lines = _log(64)
    assert lines[0] == ""
    assert re.fullmatch(r"-+ CPU Fallback Profiling: Total 1 Runs, # ms, 72 bytes Copies -+", lines[1])
    assert lines[2:4] == [" ID  | #Runs | Mean CPU(ms) | Total CPU(ms) | Copy Overhead | Operation Name", "-" * 150]
    (row,) = [_columns(line, 6, 8, 15, 16, 16) for line in lines[4:]]
    assert (row[0], row[1], row[4], row[5]) == ("1", "1", "72 bytes", " aten::linalg_eigvals")


def test_the_table_of_copies():
    lines = _log(32)
    assert lines[0] == ""
    assert len(lines[1]) == 160
    assert lines[1].strip("-") == " MPS Copy Profiling: 4 total copies (88 bytes), 1 scalar copies "
    assert lines[2] == (
        "    Kind    |  Total#  |   Total Size    | Total KRNL(ms) | Total GPU(ms) | Scalars | Scalars GPU | Blocking | memcpy "
    )
    assert lines[3] == "-" * 160
    rows = [_columns(line, 13, 11, 18, 17, 16, 10, 14, 11, 9) for line in lines[4:]]
    assert [[row[0], row[1], row[2], row[5], row[7], row[8]] for row in rows] == [
        ["MPS to MPS", "1", "24 bytes", "0", "1", "1"],
        ["MPS to CPU", "2", "28 bytes", "1", "2", "0"],
        ["CPU to MPS", "1", "36 bytes", "0", "1", "0"],
    ]
    assert [row[9] for row in rows] == [""] * 3 and rows[0][6] == "0.00 %" and rows[1][6].endswith(" %")


def test_empty_tables():
    assert _log(8, "import torch") == [
        "There are no MPS operations logged for profiling",
        "There are no CPU Fallbacks logged for profiling",
        "There are no copies logged for profiling",
    ]


@pytest.mark.parametrize("handler", ["default_int_handler", "SIG_IGN"])
def test_an_interrupt_prints_tables_once(handler):
    code = f"""
        import os, signal, sys, time
        signal.signal(signal.SIGINT, signal.{handler})
        import torch
        torch.ones(4, device="mps") + 1
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            print("went on", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTORCH_MPS_LOG_PROFILE_INFO": "16"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert process.stdout == ("went on\n" if handler == "SIG_IGN" else "interrupted\n")
    assert process.stderr.count("MPS Operations Profiling") == 1


def test_an_interrupt_without_a_handler_ends_the_program():
    code = """
        import os, signal, time
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        import torch
        torch.ones(4, device="mps") + 1
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTORCH_MPS_LOG_PROFILE_INFO": "16"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == -signal.SIGINT
    assert process.stderr.count("MPS Operations Profiling") == 1


def test_an_event_trace_adds_times_for_good(tmp_path):
    code = """
        import torch
        torch.mps.profiler.start("event")
        torch.mps.profiler.stop()
        torch.ones(2, device="mps")
    """
    outcome = snippets.run(code, PYTORCH_MPS_LOG_PROFILE_INFO="1", OPENMPS_TRACE_DIR=str(tmp_path))
    assert _masked(outcome.stderr)[-1] == "aten::fill_.Scalar:MPS:Float[2] (id=G1, run=1, gpu=# ms)"


_ALLOCATE = """
    import os, torch
    x = torch.empty(1 << 20, dtype=torch.uint8, device="mps")
    del x
    x = torch.empty(1 << 20, dtype=torch.uint8, device="mps")
    del x
    y = torch.empty(20 << 20, dtype=torch.uint8, device="mps")
    del y
    torch.mps.empty_cache()
    torch.mps.set_per_process_memory_fraction(0.0)
    # What the end of the interpreter allocates is not looked at.
    os._exit(0)
"""


#: What TORCH_CPP_LOG_LEVEL=INFO does when torch is loaded, which it is already where snippets run.
_LOUD = """
    import ctypes, pathlib, torch
    c10 = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libc10.so"))
    ctypes.c_int.in_dll(c10, "FLAGS_caffe2_log_level").value = 0
"""


def _allocator(mask: int, prepare: str = _LOUD) -> list[str]:
    """Bodies of the lines, without the prefix of c10's logger."""
    memory = str(1 << 30)
    outcome = snippets.run(prepare + _ALLOCATE, PYTORCH_DEBUG_MPS_ALLOCATOR=str(mask), OPENMPS_RECOMMENDED_MAX_MEMORY=memory)
    assert outcome.code == 0, outcome.stderr
    return _bodies(outcome.stderr)


def _bodies(stderr: str) -> list[str]:
    bodies = []
    for line in stderr.splitlines():
        prefix = re.match(r"\[I\d{4} \d\d:\d\d:\d\d\.\d+ \w+\.cpp:\d+\] ", line)
        assert prefix, line
        bodies.append(re.sub(r"0x[0-9a-f]+", "0xP", line[prefix.end() :]))
    return bodies


_ATTEMPT = "Attempting to release cached buffers (MPS allocated: 264.00 MiB, other allocations: 0 bytes)"


def test_allocator_profiling():
    assert _allocator(1) == [
        "High watermark memory allocation limit: 1.70 GiB",
        "Low watermark memory allocation limit: 1.40 GiB",
        "Initializing heap allocator on unified device memory of size 1024.00 MiB",
        _ATTEMPT,
        "High watermark memory allocation limit: unlimited",
    ]


def test_allocator_allocations():
    assert _allocator(2) == [
        "Allocated shared heap #1 of size 8.00 MiB (#heaps: 1, current allocated: 8.00 MiB)",
        "Allocated shared buffer #1 of size 1024.00 KiB at 0xP from heap #1 "
        "(offset: 0 bytes, heap free: 7.00 MiB, total: 8.00 MiB)",
        "Allocated shared heap #2 of size 256.00 MiB (#heaps: 1, current allocated: 264.00 MiB)",
        "Allocated shared buffer #2 of size 20.00 MiB at 0xP from heap #2 "
        "(offset: 0 bytes, heap free: 236.00 MiB, total: 264.00 MiB)",
        _ATTEMPT,
    ]


def test_allocator_recycles():
    assert _allocator(4) == [
        "Reusing shared buffer #1 of size 1024.00 KiB at 0xP (requested: 1024.00 KiB, use#: 2, retain#: 1)",
        _ATTEMPT,
    ]


def test_allocator_releases():
    assert _allocator(8) == [
        _ATTEMPT,
        "Released buffer of size 1024.00 KiB from heap #1 (use#: 2, retain#: 1)",
        "Released heap #1 of size 8.00 MiB (current allocated: 256.00 MiB, retain#: 1)",
        "Released buffer of size 20.00 MiB from heap #2 (use#: 1, retain#: 1)",
        "Released heap #2 of size 256.00 MiB (current allocated: 0 bytes, retain#: 1)",
    ]


def test_allocator_large_only():
    lines = _allocator(2 | 4 | 8 | 16)
    assert [line for line in lines if "buffer" in line] == [
        "Allocated shared buffer #2 of size 20.00 MiB at 0xP from heap #2 "
        "(offset: 0 bytes, heap free: 236.00 MiB, total: 264.00 MiB)",
        _ATTEMPT,
        "Released buffer of size 20.00 MiB from heap #2 (use#: 1, retain#: 1)",
    ]
    assert sum("heap #1" in line for line in lines) == 2, "lines about heaps are not filtered"


def test_allocator_lines_obey_the_log_level():
    assert _allocator(31, prepare="") == []
    outcome = snippets.run_fresh(_ALLOCATE, PYTORCH_DEBUG_MPS_ALLOCATOR="8", TORCH_CPP_LOG_LEVEL="INFO")
    assert _bodies(outcome.stderr)[-1].startswith("Released heap #2 of size ")
