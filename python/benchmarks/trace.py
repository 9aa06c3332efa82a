"""What tracing costs: a training step and the smallest op with a trace, against the same without; and what nothing costs.

Wanted: a step at most 3 % slower, an op at most 0.3 us. Usage: python trace.py [samples]
"""

import contextlib
import os
import sys
import tempfile
import time

# Read when torch is imported.
_FOLDER = tempfile.TemporaryDirectory()
os.environ["OPENMPS_TRACE_DIR"] = _FOLDER.name

import torch  # noqa: E402
from timing import machine, seconds_per_call  # noqa: E402
from training import Gpt, step  # noqa: E402


def _traced(function, calls: int, mode: str | None) -> float:
    """Seconds of one call with or without a trace, the trace's own end not counted."""
    with torch.mps.profiler.profile(mode) if mode else contextlib.nullcontext():
        return seconds_per_call(function, calls)


def main() -> None:
    """Measures in turn; the minimum is what the work costs when nothing disturbs."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    torch.set_num_threads(1)
    print(machine())
    a = torch.ones(8, device="mps")
    library = torch.mps.compile_shader("kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }")
    data = torch.randint(0, 65, (8, 65)).to("mps")
    train = step(Gpt(65, 128, 64).to("mps"), data[:, :-1], data[:, 1:])
    kinds = {
        "op: add of 8 elements": (lambda: a + a, 20_000, "us", 1e6),
        "launch of 8 threads": (lambda: library.one(a), 5_000, "us", 1e6),
        "GPT training step": (train, 10, "ms", 1e3),
    }
    for name, (function, calls, unit, scale) in kinds.items():
        plain, traced = [], []
        seconds_per_call(function, calls)
        for _ in range(samples):
            plain.append(_traced(function, calls, None))
            traced.append(_traced(function, calls, "interval"))
            torch.mps.synchronize()
            time.sleep(0.1)
        ours, theirs = min(traced), min(plain)
        limit = "<= +3 %" if unit == "ms" else "<= +0.3 us"
        print(
            f"{name:24} traced min {ours * scale:8.3f} {unit}  plain min {theirs * scale:8.3f} {unit} | "
            f"{(ours - theirs) * scale:+.3f} {unit}, {(ours / theirs - 1) * 100:+.1f} %, {samples} samples, wanted {limit}"
        )


if __name__ == "__main__":
    main()
