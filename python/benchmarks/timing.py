"""Interleaved measurement of two ways to do the same thing, printed as one line with their ratio."""

import os
import statistics
import time
from collections.abc import Callable


def seconds_per_call(function: Callable[[], object], calls: int) -> float:
    """Seconds of one call, from `calls` calls in a row."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def calls_for(function: Callable[[], object], seconds: float) -> int:
    """How many calls take about that long; warms `function` up on the way."""
    function()
    calls = 1
    while (taken := seconds_per_call(function, calls) * calls) < seconds / 4:
        calls *= 4
    return max(1, round(calls * seconds / max(taken, 1e-9)))


def compare(subject: Callable[[], object], reference: Callable[[], object], *, samples: int, seconds: float) -> tuple[list, list]:
    """Seconds per call of both, measured in turn `samples` times."""
    subject_calls, reference_calls = calls_for(subject, seconds), calls_for(reference, seconds)
    ours, theirs = [], []
    for _ in range(samples):
        ours.append(seconds_per_call(subject, subject_calls))
        theirs.append(seconds_per_call(reference, reference_calls))
    return ours, theirs


def line(name: str, ours: list[float], theirs: list[float], *, unit: str, scale: float, reference: str, limit: str) -> str:
    """``name: minimum / median of ours, of the reference, the ratio of the minima, samples, limit``."""
    ratio = min(ours) / min(theirs)
    middle = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return (
        f"{name:34} min {min(ours) * scale:9.2f} {unit}  median {statistics.median(ours) * scale:9.2f} {unit} | {reference} min "
        f"{min(theirs) * scale:9.2f} {unit}  median {statistics.median(theirs) * scale:9.2f} {unit} | ratio {ratio:5.2f} "
        f"(median of pairs {middle:5.2f}), {len(ours)} samples, wanted {limit}"
    )


def absolute(name: str, values: list[float], *, unit: str, scale: float, limit: str) -> str:
    """One line for a time that has no reference but a limit."""
    return (
        f"{name:34} min {min(values) * scale:9.2f} {unit}  median {statistics.median(values) * scale:9.2f} {unit}, "
        f"{len(values)} samples, wanted {limit}"
    )


def machine() -> str:
    """What the numbers depend on."""
    import torch

    return f"# {os.cpu_count()} CPUs, {torch.get_num_threads()} threads, torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"
