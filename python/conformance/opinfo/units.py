"""What there is to run: a unit is one entry of PyTorch's op database with one dtype.

Entries, dtypes and expected failures are PyTorch's, read from `torch.testing._internal` in the installed wheel: `common_mps`
has the lists that its own tests of the real backend use.
"""

import copy
import random
from dataclasses import dataclass
from functools import cache

import torch
from torch.testing._internal.common_device_type import onlyCPU, onlyCUDA
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_mps import mps_ops_grad_modifier, mps_ops_modifier
from torch.testing._internal.opinfo.core import OpInfo

from conformance.opinfo import FAILS, SKIPPED, WORKS

#: The names under which upstream's test asks for decorators.
TEST_CLASS, FORWARD_TEST, GRADIENT_TEST = "TestConsistency", "test_output_match", "test_output_grad_match"


@dataclass(frozen=True)
class Unit:
    """One entry with one dtype."""

    op: str
    dtype: torch.dtype

    def __str__(self) -> str:
        return f"{self.op} {dtype_name(self.dtype)}"


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


@cache
def entries() -> dict[str, OpInfo]:
    """The database by full name (`add`, `var_mean.unbiased`)."""
    found: dict[str, OpInfo] = {}
    for entry in op_db:
        assert entry.full_name not in found, f"two entries named {entry.full_name}"
        found[entry.full_name] = entry
    return found


def all_units() -> list[Unit]:
    """Every entry with every dtype that PyTorch lists for MPS, in the order of names."""
    return [
        Unit(name, dtype)
        for name, entry in sorted(entries().items())
        for dtype in sorted(entry.supported_dtypes("mps"), key=str)
    ]


def tenth(units: list[Unit], seed: int) -> list[Unit]:
    """A random tenth of the units, the same for the same seed."""
    return sorted(random.Random(seed).sample(units, len(units) // 10), key=str)


@cache
def _marked(name: str, is_gradient: bool) -> OpInfo:
    """The entry with what `common_mps` adds to it."""
    entry = copy.copy(entries()[name])
    modifier = mps_ops_grad_modifier if is_gradient else mps_ops_modifier
    [marked] = modifier([entry])
    return marked


@cache
def expectation(unit: Unit, *, is_gradient: bool) -> str:
    """What upstream's test of the real backend expects: `WORKS`, `FAILS` or `SKIPPED`."""

    def test() -> None:
        """Takes the marks of decorators."""

    name = GRADIENT_TEST if is_gradient else FORWARD_TEST
    for decorator in _marked(unit.op, is_gradient).get_decorators(TEST_CLASS, name, "mps", unit.dtype, {}):
        if decorator in (onlyCUDA, onlyCPU):
            return SKIPPED
        if getattr(decorator, "__module__", "").startswith("unittest"):
            test = decorator(test)
    if getattr(test, "__unittest_skip__", False):
        return SKIPPED
    return FAILS if getattr(test, "__unittest_expecting_failure__", False) else WORKS


def has_gradient(unit: Unit) -> bool:
    """Whether PyTorch lists a gradient for the dtype on MPS."""
    return unit.dtype in entries()[unit.op].supported_backward_dtypes("mps")
