"""Captures of PyTorch programs: they run again without the program, and one launch becomes a case."""

import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest

import openmps
import snippets

COMMAND = pathlib.Path(openmps.__file__).parent / "_native" / "openmps"
DEMO = pathlib.Path(__file__).resolve().parent.parent / "demo.py"

# One step of the demo's model with its compiled kernels between ops.
STEP = """
    import sys
    sys.path.insert(0, {folder!r})
    import demo
    import torch
    from torch.nn import functional as F

    torch.manual_seed(0)
    library = torch.mps.compile_shader(demo.KERNELS)
    tokens = torch.randint(0, 60, (2, demo.CONTEXT + 1), device="mps")
    model = demo.CharacterModel(60).to("mps")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    with torch.mps.profiler.metal_capture({name!r}):
        logits = model(tokens[:, :-1]).flatten(0, 1)
        probabilities = torch.empty_like(logits)
        library.row_softmax(logits.detach(), probabilities, 60, threads=logits.shape[0] * 64, group_size=64)
        bins = torch.zeros(256, dtype=torch.int32, device="mps")
        library.histogram(tokens.to(torch.uint8).flatten(), bins)
        loss = F.cross_entropy(logits, tokens[:, 1:].flatten()) + 0 * probabilities.sum()
        loss.backward()
        optimizer.step()
        library.row_softmax(model.head.weight.detach(), torch.empty_like(model.head.weight), demo.WIDTH, threads=60 * 32, group_size=32)
"""


def trace(*arguments, **options):
    """The command on its own: without PyTorch's variables and without this process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTORCH_", "MTL_"))}
    return subprocess.run([COMMAND, "trace", *map(str, arguments)], capture_output=True, text=True, env=environment, **options)


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captures")
    snippets.output(STEP.format(folder=str(DEMO.parent), name=str(folder / "step")), MTL_CAPTURE_ENABLED="1")
    return folder / "0000-step.gputrace"


def test_a_training_step_replays_bit_for_bit(step):
    result = trace("replay", step, "--check", "--json")
    assert result.stderr == "" and result.returncode == 0
    report = json.loads(result.stdout)
    assert [(launch["kernel"], launch["verdict"]) for launch in report["launches"]] == [
        ("row_softmax", "equal"),
        ("histogram", "equal"),
        ("row_softmax", "equal"),
    ]


@pytest.mark.parametrize("launch", [0, 1])
def test_a_launch_becomes_a_case_for_python(step, tmp_path, launch):
    case = tmp_path / "case"
    assert trace("extract", step, launch, "-o", case).returncode == 0
    run = [sys.executable, str(case / "run.py")]
    result = subprocess.run(run, capture_output=True, text=True)
    name = ("row_softmax", "histogram")[launch]
    assert (result.stdout, result.stderr) == (f"{name}: equal bit for bit\n", "")
    assert subprocess.run([*run, "--library"], capture_output=True, text=True).stdout == f"{name}: equal bit for bit\n"
    source = (case / "kernel.metal").read_text()
    (case / "kernel.metal").write_text(source.replace("1u, memory_order", "2u, memory_order").replace("/ total;", "/ total + 1;"))
    result = subprocess.run(run, capture_output=True, text=True)
    assert result.returncode == 1 and " bytes differ, first byte " in result.stdout


def test_addresses_in_arguments_are_moved(tmp_path):
    code = """
        import torch

        library = torch.mps.compile_shader('''
        struct Tensors {{ device const float* items[2]; }};
        kernel void add(constant Tensors& tensors [[buffer(0)]], device float* sum [[buffer(1)]], uint i [[thread_position_in_grid]]) {{
          sum[i] = tensors.items[0][i] + tensors.items[1][i];
        }}''')
        a, b = torch.rand(100, device="mps"), torch.rand(1000, device="mps")
        sum = torch.empty(100, device="mps")
        with torch.mps.profiler.metal_capture({name!r}):
            library.add([a, b[7:]], sum)
    """
    snippets.output(code.format(name=str(tmp_path / "add")), MTL_CAPTURE_ENABLED="1")
    result = trace("replay", tmp_path / "0000-add.gputrace", "--check")
    assert result.stdout.endswith(": 1 equal bit for bit, 0 differ by the order of threads, 0 differ, 0 failed\n")
    assert trace("extract", tmp_path / "0000-add.gputrace", 0, "-o", tmp_path / "case").returncode == 0
    result = subprocess.run([sys.executable, str(tmp_path / "case" / "run.py")], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("add: equal bit for bit\n", "")


def test_a_program_that_is_killed_leaves_a_capture_that_can_be_read(tmp_path):
    code = """
        import os, signal
        import torch

        library = torch.mps.compile_shader("kernel void one(device float* x, uint i [[thread_position_in_grid]]) {{ x[i] += 1; }}")
        x = torch.zeros(1000, device="mps")
        capture = torch.mps.profiler.metal_capture({name!r})
        capture.__enter__()
        for _ in range(5):
            library.one(x)
        torch.mps.synchronize()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert snippets.run(code.format(name=str(tmp_path / "dead")), MTL_CAPTURE_ENABLED="1").code == -9
    result = trace("replay", tmp_path / "0000-dead.gputrace", "--check")
    assert "5 equal bit for bit" in result.stdout
    assert result.stderr.endswith("warning: the capture was not ended, its last part is missing\n")


FULL = """
    import os, resource, sys, warnings
    import torch

    library = torch.mps.compile_shader("kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }")
    x = torch.rand(4096, device="mps")
    before = x.cpu()
    torch.mps.synchronize()
    FILL
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with torch.mps.profiler.metal_capture(NAME):
            for _ in range(20):
                library.twice(x)
                x.add_(torch.rand(4096, device="mps") - 0.5)
    print([str(one.message) for one in seen], torch.isfinite(x).all().item())
"""


@pytest.mark.parametrize("fill", ["disk", "limit"])
def test_a_full_disk_ends_the_capture_and_not_the_program(tmp_path, fill):
    name, file = tmp_path / "full", tmp_path / "0000-full.gputrace"
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))"
    if fill == "disk":
        # A capture that is there already is overwritten, and this part of it lies on a disk without space.
        file.mkdir()
        (file / "contents.zst").symlink_to("/dev/full")
        limit = "pass"
    reason = {"disk": "No space left on device (os error 28)", "limit": "File too large (os error 27)"}[fill]
    outcome = snippets.run(FULL.replace("FILL", limit).replace("NAME", repr(str(name))), MTL_CAPTURE_ENABLED="1")
    assert (outcome.code, outcome.stderr) == (0, ""), outcome.stderr
    (message,) = ast.literal_eval(outcome.stdout.rsplit(" ", 1)[0])
    assert outcome.stdout.endswith(" True\n") and message == f"capture {file} is not complete: {reason}"
    # What was written until then is there: nothing on the full disk, some launches below the limit.
    result = trace("replay", file, "--check", check=False)
    counts = {"disk": "0 launches", "limit": " equal bit for bit, 0 differ by the order of threads, 0 differ, 0 failed"}
    assert counts[fill] in result.stdout, result.stdout + result.stderr


def test_the_page_needs_nothing_else(step, tmp_path):
    page = tmp_path / "step.html"
    result = trace("show", step, "-o", page, "--json")
    assert json.loads(result.stdout) == {"page": str(page), "bytes": page.stat().st_size}
    text = page.read_text()
    assert "aten::addmm" in text and "row_softmax" in text and "threadgroup_barrier" in text
    for word in ("src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"):
        assert word not in text
