"""The conformance kernels of crates/openmps-suite/kernels: one behaviour of Metal each.

Their comment headers say how to run them and what must come out; README.md there explains the keys.
"""

import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

FOLDER = pathlib.Path(__file__).parents[2] / "crates" / "openmps-suite" / "kernels"
_INPUT_NAMES = "abcdefgh"


@dataclass
class Case:
    """One launch of the kernel ``test`` of a file."""

    threads: int | tuple[int, ...]
    group: int | tuple[int, ...]
    """Threads of a threadgroup."""
    threadgroup_bytes: int
    """Dynamic threadgroup memory at index 0."""
    inputs: list[np.ndarray] = field(repr=False)
    """Buffers 1, 2, …"""
    initial: np.ndarray = field(repr=False)
    """Buffer 0 before the launch."""
    expected: np.ndarray = field(repr=False)
    """Buffer 0 after it."""
    tolerance: float
    """Relative and absolute."""

    def check(self, got: np.ndarray) -> None:
        """Raises AssertionError unless ``got`` is what must be in buffer 0."""
        np.testing.assert_allclose(got, self.expected, rtol=self.tolerance, atol=self.tolerance, equal_nan=True)


def executable() -> Iterator[pathlib.Path]:
    """The files that state a result."""
    return (path for path in sorted(FOLDER.rglob("*.metal")) if "out" in header(path))


def header(path: pathlib.Path) -> dict:
    """The keys of the leading comment; ``in`` and ``let`` are lists."""
    keys = {"in": [], "let": []}
    for line in path.read_text().splitlines():
        match = re.match(r"// (\w+): (.*)", line)
        if not match:
            break
        if match[1] in ("in", "let"):
            keys[match[1]].append(match[2])
        else:
            keys[match[1]] = match[2]
    return keys


def case(path: pathlib.Path, seed: int) -> Case:
    """The launch that the file's header describes, with random inputs from ``seed``."""
    keys = header(path)
    threads = eval(keys.get("threads", "1"))  # noqa: S307 - our own files
    names = {"np": np, "n": threads, "rng": np.random.default_rng(seed)}
    inputs = []
    for name, expression in zip(_INPUT_NAMES, keys["in"]):
        names[name] = eval(expression, names)  # noqa: S307
        inputs.append(np.ascontiguousarray(names[name]).copy())
    initial = np.ascontiguousarray(eval(keys["out"], names)).copy()  # noqa: S307
    with np.errstate(all="ignore"):
        for line in keys["let"]:
            name, expression = line.split(" = ", 1)
            names[name] = eval(expression, names)  # noqa: S307
        expected = np.asarray(eval(keys["expect"], names)).reshape(initial.shape).astype(initial.dtype)  # noqa: S307
    return Case(
        threads,
        eval(keys.get("group", "threads"), {"threads": threads}),  # noqa: S307
        int(keys.get("threadgroup", "0")),
        inputs,
        initial,
        expected,
        float(keys.get("tolerance", "0")),
    )
