"""The cost of a shader: compiling cold, loading from the disk cache, dispatching.

Wanted: 150 ms cold, 2 ms from the cache, 10 us for the dispatch of an empty kernel.
Each compilation is measured in a fresh process, after torch is imported and a tensor was made.
Usage: python shader.py [samples]
"""

import os
import subprocess
import sys
import tempfile

import torch
from timing import absolute, calls_for, compare, line, machine, seconds_per_call

SOURCE = "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = val; }"

_CHILD = f"""
import time, torch
y = torch.zeros(16, device="mps")
torch.mps.synchronize()
start = time.perf_counter()
lib = torch.mps.compile_shader({SOURCE!r})
full = lib.full
print(time.perf_counter() - start)
full(y, 3.5)
assert y.tolist() == [3.5] * 16
"""


def compile_seconds(cache_folder: str) -> float:
    """`compile_shader` and the first look at the kernel, in a fresh process with this disk cache."""
    environment = {**os.environ, "OPENMPS_CACHE_DIR": cache_folder}
    done = subprocess.run([sys.executable, "-c", _CHILD], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def compilation(samples: int) -> None:
    """Cold and warm processes in turn."""
    cold, warm = [], []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(compile_seconds(folder))
            warm.append(compile_seconds(folder))
    print(absolute("compile_shader cold", cold, unit="ms", scale=1e3, limit="<= 150 ms"))
    print(absolute("compile_shader from the disk cache", warm, unit="ms", scale=1e3, limit="<= 2 ms"))


def dispatch(samples: int) -> None:
    """An empty kernel, without and with arguments; the reference is a small op on the CPU."""
    lib = torch.mps.compile_shader("""
        kernel void none() {}
        kernel void two(device float* x, constant float& y) {}
    """)
    x, host = torch.zeros(4, device="mps"), torch.zeros(4)
    for name, call in {
        "dispatch of an empty kernel": lambda kernel=lib.none: kernel(threads=1),
        "dispatch with tensor and number": lambda kernel=lib.two: kernel(x, 1.0),
    }.items():
        ours, theirs = compare(call, lambda: host.add_(1.0), samples=samples, seconds=0.01)
        torch.mps.synchronize()
        print(line(name, ours, theirs, unit="us", scale=1e6, reference="cpu add_", limit="<= 10 us"))
    full = torch.mps.compile_shader(SOURCE).full

    def round_trip():
        full(x, 2.0)
        torch.mps.synchronize()

    calls = calls_for(round_trip, 0.02)
    times = [seconds_per_call(round_trip, calls) for _ in range(samples)]
    assert x.tolist() == [2.0] * 4
    print(absolute("dispatch and synchronize", times, unit="us", scale=1e6, limit="(no limit set)"))


def main() -> None:
    """Prints one line a case."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print(machine())
    compilation(samples)
    dispatch(samples)


if __name__ == "__main__":
    main()
