"""Kernels of PyTorch's own Metal library, which is downloaded, against ATen's ops on the CPU."""

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import special
from torch.nn import functional

COUNT = 1 << 18
# Elements that one thread of a dense kernel handles.
PER_THREAD = 4

UNARY: dict[str, Callable] = {
    "abs": torch.abs, "acos": torch.acos, "atan": torch.atan, "ceil": torch.ceil, "cos": torch.cos, "cosh": torch.cosh,
    "digamma": torch.digamma, "erf": torch.erf, "erfc": torch.erfc, "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1,
    "gelu": functional.gelu, "hardswish": functional.hardswish, "i0": special.i0, "lgamma": torch.lgamma, "log": torch.log,
    "log1p": torch.log1p, "log2": torch.log2, "log_sigmoid_forward": functional.logsigmoid, "mish": functional.mish, "neg": torch.neg,
    "reciprocal": torch.reciprocal, "rsqrt": torch.rsqrt, "sigmoid": torch.sigmoid, "silu": functional.silu, "sin": torch.sin,
    "sinh": torch.sinh, "sqrt": torch.sqrt, "tan": torch.tan, "tanh": torch.tanh,
}
BINARY: dict[str, Callable] = {"fmax": torch.fmax, "mul": torch.mul, "hypot": torch.hypot, "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor")}


def _library():
    """The library, through the conformance suite's download and cache."""
    sys.path.insert(0, str(Path(__file__).parent.parent.parent))
    from conformance import wheels

    return torch.mps.load_metallib(str(wheels.library("0")))


def run(wanted: list[str], measured: Callable, ratio: Callable, samples: int) -> None:
    """Prints a line a kernel, and the geometric mean."""
    loaded = _library()
    # Within the domain of every function above.
    x, other = torch.rand(COUNT) * 0.9 + 0.05, torch.rand(COUNT) + 0.5
    device, second, out = x.to("mps"), other.to("mps"), torch.zeros(COUNT, device="mps")
    size = torch.tensor([COUNT], dtype=torch.int32, device="mps")
    ratios = []
    print(f"{'kernel of the torch library':40}{'us':>10}  times faster than ATen")
    for operations, variant, given, operands in ((UNARY, "dense", [out, device], [x]), (BINARY, "dense_ilp4", [out, device, second], [x, other])):
        for name, reference in operations.items():
            if wanted and name not in wanted:
                continue
            kernel = getattr(loaded, f"{name}_{variant}_float_float")
            value, line = _line(name, kernel, [*given, size], lambda reference=reference, operands=operands: reference(*operands), measured, ratio, samples)
            ratios.append(value)
            print(line, flush=True)
    if ratios:
        print(f"geometric mean over {len(ratios)} kernels: {statistics.geometric_mean(ratios):.2f} times faster than ATen, least {min(ratios):.2f}")


def _line(name: str, kernel, given: list, reference: Callable, measured: Callable, ratio: Callable, samples: int) -> tuple[float, str]:
    def ours() -> None:
        kernel(*given, threads=[COUNT // PER_THREAD], group_size=[256])
        torch.mps.synchronize()

    ours()
    error = float((given[0].cpu() - reference()).abs().max())
    if not error < 1e-3:
        sys.exit(f"{name}: wrong by {error}")
    times = measured({"ours": ours, "ATen": reference}, samples)
    value, text = ratio(times["ours"], times["ATen"])
    return value, f"{name:40}{statistics.median(times['ours']) * 1e6:10.1f}  {text}"
