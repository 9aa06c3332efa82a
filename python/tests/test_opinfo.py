"""PyTorch's own op database: a tenth of its units, and the tool that runs them."""

import pathlib
import subprocess
import sys

import pytest
from conformance.opinfo import FAILS, WORKS, report

#: Draws the tenth of the database. Any will do; this one takes half a minute.
SEED = 179


def test_a_tenth_of_the_database_passes():
    folder = pathlib.Path(__file__).parents[1]
    command = [sys.executable, "-m", "conformance.opinfo", "--tenth", str(SEED), "--summary"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [totals] = [line for line in done.stdout.splitlines() if "samples passed" in line]
    assert int(totals.split(": ")[1].split()[0]) > 9_000, totals


def _result(op, dtype, *, failed=0, passed=10, expected=WORKS):
    return {"op": op, "dtype": dtype, "expectation": expected, "passed": passed, "failed": failed, "skipped": {}, "texts": ["sample 0: wrong"] * failed}


def test_differences_that_are_listed_are_told_from_others():
    known = report.differences("# a comment\n\nspecial.* float16,bfloat16 no kernels for halves\nadd * gone\n")
    found = report.Report(
        [
            _result("special.j0", "float16", failed=2),
            _result("special.j0", "float32", failed=1),
            _result("mode", "float32", failed=5, expected=FAILS),
            _result("add", "int8"),
        ],
        known,
    )
    assert [(result["op"], result["dtype"]) for result in found.unexplained] == [("special.j0", "float32")]
    assert found.percent == pytest.approx(100 * 30 / 33)
    assert [difference.op for difference in found.stale] == ["add"]
    text = "\n".join(found.op_lines())
    assert "float16 listed: no kernels for halves" in text
    assert "float32 FAILED" in text
    assert "fails on a Mac: float32 (5 of 15 fail here)" in text


# `torch.testing._internal` changes settings of the process that imports it, so it is imported in another one.
_EXPECTATIONS = """
import torch
from conformance.opinfo import FAILS, SKIPPED, WORKS, units
def expected(op, dtype):
    return units.expectation(units.Unit(op, dtype), is_gradient=False)
assert expected("mode", torch.float32) == FAILS
assert expected("nn.functional.conv2d", torch.int64) == FAILS
assert expected("nn.functional.conv2d", torch.float32) == WORKS
assert expected("empty", torch.float32) == SKIPPED
assert expected("jiterator_unary", torch.float32) == SKIPPED
assert len(units.all_units()) > 5_000
"""

_WRONG = """
import torch
from conformance.opinfo import check, units
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
unit = units.Unit("sin", torch.float32)
entry = units.entries()["sin"]
right = check.run(unit)
assert right.failed == 0 and right.passed > 0
entry.op = lambda x: torch.sin(x) if x.device.type == "cpu" else torch.sin(x) + 1
assert check.run(unit).failed == right.passed
entry.op = lambda x: torch.sin(x if x.device.type == "cpu" else Doubled.apply(x))
assert check.run(unit).failed == right.passed
entry.op = lambda x: torch.sin(x.cpu())
assert "a result is on cpu" in check.run(unit).texts[0]
entry.op = lambda x: torch.rand_like(x)
random = check.run(unit)
assert random.failed == 0 and random.skipped["random: shapes and dtypes agree"] > 0
"""


@pytest.mark.parametrize("code", [_EXPECTATIONS, _WRONG], ids=["expectations", "wrong results"])
def test_the_tool(code):
    folder = pathlib.Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
