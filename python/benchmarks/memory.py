"""Resident memory of a process that has imported torch, with the plug-in and without, and its import time.

Wanted: at most 60 MB more. Usage: python memory.py [samples]
"""

import os
import statistics
import subprocess
import sys

_CHILD = """
import resource, sys, time
start = time.perf_counter()
import torch
seconds = time.perf_counter() - start
with_device = sys.argv[1] == "used"
if with_device:
    assert (torch.ones(4, device="mps") + 1).sum().item() == 8
pages = int(open("/proc/self/statm").read().split()[1])
print(pages * resource.getpagesize(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, seconds, torch._C._has_mps)
"""


def measure(autoload: str, use: str) -> tuple[int, int, float]:
    """Resident and peak bytes, and seconds, of a fresh process."""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": autoload}
    done = subprocess.run([sys.executable, "-c", _CHILD, use], env=environment, capture_output=True, text=True, check=True)
    resident, peak, seconds, active = done.stdout.split()
    assert active == str(autoload == "1")
    return int(resident), int(peak), float(seconds)


def main() -> None:
    """Measures the three kinds of process in turn."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    kinds = {"without": ("0", "idle"), "with": ("1", "idle"), "with, device used": ("1", "used")}
    values = {kind: [] for kind in kinds}
    for _ in range(samples):
        for kind, arguments in kinds.items():
            values[kind].append(measure(*arguments))
    for column, (name, unit, scale) in enumerate([("resident", "MB", 1e-6), ("peak", "MB", 1e-6), ("import torch", "ms", 1e3)]):
        base = [value[column] for value in values["without"]]
        for kind in ("with", "with, device used"):
            ours = [value[column] for value in values[kind]]
            more = statistics.median(ours) - statistics.median(base)
            print(
                f"{name + ' ' + kind:34} min {min(ours) * scale:8.1f} {unit}  median {statistics.median(ours) * scale:8.1f} {unit} | "
                f"without min {min(base) * scale:8.1f} median {statistics.median(base) * scale:8.1f} | ratio "
                f"{statistics.median(ours) / statistics.median(base):5.2f}, difference {more * scale:+.1f} {unit}, {samples} samples"
                + (", wanted <= +60 MB" if unit == "MB" else "")
            )


if __name__ == "__main__":
    main()
