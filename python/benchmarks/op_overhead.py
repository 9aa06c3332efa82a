"""What a small op costs on mps, against the same op on cpu: same kernels, so the difference is the plug-in's.

One thread: with more, the smallest ops measure how soon OpenMP's other threads get a core, on both devices.
Wanted: at most 1.2 times. Usage: python op_overhead.py [samples]
"""

import math
import statistics
import sys

import torch
import torch.nn.functional as F
from timing import compare, line, machine


def ops(device: str) -> dict:
    """One callable per op over 4x4 tensors on `device`."""
    torch.manual_seed(0)
    x, y = torch.randn(4, 4).to(device), torch.randn(4, 4).to(device)
    weight, bias = torch.randn(4, 4).to(device), torch.randn(4).to(device)
    target = torch.zeros(4, 4).to(device)
    many = [torch.randn(4, 4).to(device) for _ in range(10)]
    leaf = torch.randn(4, 4).to(device).requires_grad_()

    def gradient():
        leaf.grad = None
        (leaf * 2).sum().backward()
        return leaf.grad

    return {
        "add": lambda: x + y,
        "add_": lambda: target.zero_().add_(y),
        "mul by a number": lambda: x * 3.0,
        "mm": lambda: x @ y,
        "linear": lambda: F.linear(x, weight, bias),
        "softmax": lambda: x.softmax(-1),
        "layer_norm": lambda: F.layer_norm(x, (4,), bias, bias),
        "relu": lambda: x.relu(),
        "sum": lambda: x.sum(),
        "cat": lambda: torch.cat([x, y]),
        "copy_": lambda: target.copy_(x),
        "view": lambda: x.view(2, 8),
        "transpose": lambda: x.t(),
        "empty": lambda: torch.empty(4, 4, device=device).zero_(),
        "foreach_add of 10": lambda: torch._foreach_add(many, 1.0)[3],
        "backward of a sum": gradient,
    }


def main() -> None:
    """Checks every result, then measures."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    torch.set_num_threads(1)
    print(machine())
    on_mps, on_cpu = ops("mps"), ops("cpu")
    for name, function in on_cpu.items():
        torch.testing.assert_close(on_mps[name]().detach().cpu(), function().detach(), rtol=1e-5, atol=1e-5)
    ratios = []
    for name, function in on_cpu.items():
        with torch.set_grad_enabled(name.startswith("backward")):
            times = compare(on_mps[name], function, samples=samples, seconds=0.002)
        # By pairs: each side's minimum may be the one sample that caught the CPU at another clock (0.6 to 1.35 for one build).
        ratios.append(statistics.median(ours / theirs for ours, theirs in zip(*times, strict=True)))
        print(line(name, *times, unit="us", scale=1e6, reference="cpu", limit="median <= 1.2"))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"small ops: geometric mean of the medians {mean:.2f}, largest {max(ratios):.2f}, wanted <= 1.2")


if __name__ == "__main__":
    main()
