"""What a family of kernels is, one run of a kernel, and how its results are judged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from conformance.memory import Output


@dataclass(frozen=True)
class Tolerance:
    """A value passes when it differs by at most ``absolute + relative * |expected|``; NaN and infinities must be equal."""

    relative: float = 0.0
    absolute: float = 0.0


EXACT = Tolerance()

# One rounding of the result: half an ulp of the kernel's and half an ulp of the reference's own.
ROUNDING = {torch.float32: 1.2e-7, torch.float16: 9.8e-4, torch.bfloat16: 7.9e-3, torch.complex64: 2.4e-7, torch.complex32: 2e-3}


def rounded(tolerance: Tolerance, dtype: torch.dtype, roundings: int = 1) -> Tolerance:
    """A tolerance stated for float32, widened by what rounding to ``dtype`` adds; it stays for float32 and integers.

    One rounding, of the result, is relative to it. More of them are intermediate results, of the order of one.
    """
    if dtype in (torch.float32, torch.complex64) or dtype not in ROUNDING:
        return tolerance
    widened = roundings * ROUNDING[dtype]
    return Tolerance(tolerance.relative + widened, tolerance.absolute + widened * (1e-2 if roundings == 1 else 1.0))


@dataclass
class Launch:
    """One dispatch: threads as in ``dispatchThreads``."""

    kernel: str
    args: list[Any]
    threads: tuple[int, ...]
    group: tuple[int, ...] | None = None
    threadgroup_bytes: dict[int, int] = field(default_factory=dict)
    """Lengths of dynamic threadgroup memory by index, which ``torch.mps`` cannot give: such a launch goes by ``openmps run``."""


@dataclass
class Check:
    """What an output must hold."""

    output: Output | Callable[[], torch.Tensor]
    expected: torch.Tensor
    tolerance: Tolerance = EXACT


@dataclass
class Case:
    """Launches one after the other, then checks."""

    launches: list[Launch]
    checks: list[Check]
    note: str = ""
    reached: list[Any] = field(default_factory=list)
    """Memory that kernels reach through addresses, which keep nothing alive by themselves."""


@dataclass(frozen=True)
class Family:
    """Kernels that differ by dtype or layout only, and the runs that judge them."""

    name: str
    theme: str
    cases: Callable[["Library"], Iterator[Case]]


@dataclass
class Library:
    """Names of the library's kernels, where it lies, and how much of it a run takes."""

    names: frozenset[str]
    path: Path
    is_thorough: bool = False

    def has(self, name: str) -> bool:
        """Whether there is such a kernel."""
        return name in self.names


@dataclass
class Verdict:
    """The worst that was seen."""

    absolute: float = 0.0
    relative: float = 0.0
    complaints: list[str] = field(default_factory=list)

    def judge(self, actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance, where: str) -> None:
        """Compares, keeps the largest errors, and adds a complaint when the tolerance does not hold."""
        if actual.shape != expected.shape or actual.dtype != expected.dtype:
            self.complaints.append(f"{where}: {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}")
            return
        if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
            difference = actual.view(torch.uint8) != expected.contiguous().view(torch.uint8) if actual.dtype == torch.bool else actual != expected
            if tolerance.absolute and bool(difference.any()):
                difference = (actual.to(torch.int64) - expected.to(torch.int64)).abs() > tolerance.absolute
            self._complain(difference, actual, expected, where)
            return
        wide = torch.complex128 if actual.dtype.is_complex else torch.float64
        a, e = actual.to(torch.complex64).to(wide) if actual.dtype == torch.complex32 else actual.to(wide), (
            expected.to(torch.complex64).to(wide) if expected.dtype == torch.complex32 else expected.to(wide)
        )
        if actual.dtype.is_complex:
            a, e = torch.view_as_real(a), torch.view_as_real(e)
        same = (a == e) | (a.isnan() & e.isnan())
        error = (a - e).abs()
        # A complex result is judged by the magnitude of the whole number.
        size = e.norm(dim=-1, keepdim=True).expand_as(e) if actual.dtype.is_complex else e.abs()
        is_finite = a.isfinite() & e.isfinite()
        bad = ~same & ~(is_finite & (error <= tolerance.absolute + tolerance.relative * size))
        counted = is_finite & ~bad
        if bool(counted.any()):
            self.absolute = max(self.absolute, float(error[counted].max()))
            self.relative = max(self.relative, float((error / size.clamp_min(1e-30))[counted & (size > 1e-3)].max()) if bool((counted & (size > 1e-3)).any()) else 0.0)
        self._complain(bad, a, e, where)

    def _complain(self, bad: torch.Tensor, actual: torch.Tensor, expected: torch.Tensor, where: str) -> None:
        if not bool(bad.any()):
            return
        first = tuple(int(place[0]) for place in bad.nonzero(as_tuple=True)) if bad.dim() else ()
        self.complaints.append(
            f"{where}: {int(bad.sum())} of {bad.numel()} differ, first at {first}: {actual[first].item()}, expected {expected[first].item()}"
        )
