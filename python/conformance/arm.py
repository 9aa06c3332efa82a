"""The conformance kernels as code for ARM servers, executed: by an emulator where the machine is another.

``python -m conformance.arm PROGRAM`` makes objects of every kernel with PROGRAM (the example ``arm_objects`` of openmps-suite), for
NEON and for SVE, scalar and as vectors, links each with ``crates/openmps-suite/arm/host.c`` and runs it under ``qemu-aarch64``.
Prints a count for each CPU and engine and what went wrong; the exit status is 0 when nothing did.

Not run, and counted: code whose threads need stacks of their own, and vector code for threadgroups that the engine would run with
scalar code. Both exist in the engine alone.
"""

import collections
import concurrent.futures
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from conformance import metal_kernels

_HOST = metal_kernels.FOLDER.parent / "arm" / "host.c"
_COMPILER = "aarch64-linux-gnu-gcc"
_EMULATOR = ["qemu-aarch64", "-cpu", "max"]
# Exit statuses of the host for what is left to the engine.
_NOT_RUN = {3: "other code for this shape", 4: "threads with stacks of their own"}
_SECONDS_MAX = 120
# Includes headers of the torch wheel, which only `compile_shader` adds.
_NOT_FOR_ARM = "c10_metal"


@dataclass(frozen=True)
class Object:
    """Code of one kernel for one CPU."""

    source: pathlib.Path
    kernel: str
    cpu: str
    engine: str
    path: pathlib.Path
    parameters: tuple[str, ...]
    """``buffer INDEX``, ``threadgroup INDEX``, ``builtin``, ``engine``, in the kernel's order."""

    def __str__(self) -> str:
        return f"{self.source.parent.name}/{self.source.stem}: {self.kernel}, {self.cpu}, {self.engine}"


@dataclass
class Outcome:
    """What became of a number of objects."""

    counts: dict[tuple[str, str, str], int]
    """By CPU, engine and verdict."""
    failures: list[str]


def sources() -> list[pathlib.Path]:
    """The files whose kernels can be made for ARM."""
    return [path for path in sorted(metal_kernels.FOLDER.rglob("*.metal")) if path.stem != _NOT_FOR_ARM]


def run(program: pathlib.Path, sources: Iterable[pathlib.Path], seed: int) -> Outcome:
    """Makes and runs the objects of ``sources``; inputs are random from ``seed``."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        host = folder / "host.o"
        subprocess.run([_COMPILER, "-O1", "-Wall", "-Wextra", "-Werror", "-c", _HOST, "-o", host], check=True)
        counts, failures = collections.Counter(), []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for code, verdict, words in pool.map(lambda code: _judge(host, code, seed), _objects(program, folder, sources)):
                counts[code.cpu, code.engine, verdict] += 1
                failures += [f"{code}: {words}"] if verdict == "wrong" else []
        return Outcome(dict(counts), failures)


def _objects(program: pathlib.Path, folder: pathlib.Path, sources: Iterable[pathlib.Path]) -> list[Object]:
    """Objects of ``sources``, in ``folder``, from as many processes as there are CPUs."""
    sources = list(sources)
    processes = []
    for part in range(os.cpu_count()):
        place = folder / str(part)
        place.mkdir()
        command = [program, place, *sources[part :: os.cpu_count()]]
        processes.append((place, subprocess.Popen(command, stdout=subprocess.PIPE, text=True)))
    objects = []
    for place, process in processes:
        text, _ = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"{program} ended with status {process.returncode}")
        for line in text.splitlines():
            source, kernel, cpu, engine, file, parameters = line.split("\t")
            parts = tuple(parameters.split(",")) if parameters else ()
            objects.append(Object(pathlib.Path(source), kernel, cpu, engine, place / file, parts))
    return objects


def _judge(host: pathlib.Path, code: Object, seed: int) -> tuple[Object, str, str]:
    """The object, what became of it in a word, and in more words if it is wrong."""
    executable = code.path.with_suffix("")
    command = [_COMPILER, "-static", host, code.path, "-lm", "-o", executable]
    linked = subprocess.run(command, capture_output=True, text=True, check=False)
    if linked.returncode != 0:
        return code, "wrong", linked.stderr.strip()
    if code.kernel != "test" or "out" not in metal_kernels.header(code.source):
        return code, "linked", ""
    try:
        return code, *_execute(executable, code, metal_kernels.case(code.source, seed))
    finally:
        executable.unlink()


def _execute(executable: pathlib.Path, code: Object, case: metal_kernels.Case) -> tuple[str, str]:
    buffers = {0: case.initial} | dict(enumerate(case.inputs, 1))
    launch = struct.pack("<3I3II", *_three(case.threads), *_three(case.group), len(code.parameters))
    order = []
    for parameter in code.parameters:
        kind, _, index = parameter.partition(" ")
        match kind:
            case "buffer":
                content = buffers[int(index)].tobytes()
                launch += struct.pack("<IQ", 1, len(content)) + content
                order.append(int(index))
            case "threadgroup":
                launch += struct.pack("<IQ", 2, case.threadgroup_bytes)
            case _:
                launch += struct.pack("<IQ", 0, 0)
    command = [*_EMULATOR, executable]
    done = subprocess.run(command, input=launch, capture_output=True, check=False, timeout=_SECONDS_MAX)
    if done.returncode in _NOT_RUN:
        return _NOT_RUN[done.returncode], ""
    if done.returncode != 0:
        return "wrong", f"status {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
    offset = sum(buffers[index].nbytes for index in order[: order.index(0)])
    got = np.frombuffer(done.stdout, case.initial.dtype, case.initial.size, offset)
    try:
        case.check(got.reshape(case.initial.shape))
    except AssertionError as error:
        return "wrong", str(error).strip()
    return "right", ""


def _three(sizes: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    return sizes + (1,) * (3 - len(sizes))


def main() -> int:
    """Runs every conformance kernel."""
    program = pathlib.Path(sys.argv[1]).resolve()
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    outcome = run(program, sources(), seed)
    for (cpu, engine, verdict), count in sorted(outcome.counts.items()):
        print(f"{cpu}, {engine}: {count} {verdict}")
    print(*outcome.failures, sep="\n")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
