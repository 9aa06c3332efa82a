"""Random ops of the device against Apple's compiled kernels, which run here from the same seed and offset.

One :class:`Draw` an op: the op itself with a generator, and the launch that PyTorch's host code makes of it. All values must be
equal (on CPUs with fused multiply-add; elsewhere the engine rounds products); `python/tests/test_random_values.py` runs all.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import torch

from conformance.dtypes import METAL_NAME
from conformance.memory import ErrorBuffer, Output, i64, pack, to_device, u32

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)

#: Elements; no multiple of four, so that the last thread of a launch is only partly needed.
COUNT = 4003

_WORDS_PER_BLOCK = 4


@dataclass(frozen=True)
class Draw:
    """An op and its kernel. Both get what they need to know from `(dtype, count)`."""

    name: str
    dtypes: tuple[torch.dtype, ...]
    #: Makes the op's result on the device from a generator.
    op: Callable[[torch.dtype, torch.Generator], torch.Tensor]
    #: Launches the kernel of the library with a seed and an offset, and reads its result.
    kernel: Callable[[object, torch.dtype, int, int], torch.Tensor]


def generator(seed: int, offset: int) -> torch.Generator:
    """A generator that stands at an offset, in blocks."""
    made = torch.Generator("mps").manual_seed(seed)
    state = made.get_state()
    state[36:] = torch.tensor([offset], dtype=torch.int64).view(torch.uint8)
    made.set_state(state)
    return made


def _launch(library, kernel: str, dtype: torch.dtype, parameters: torch.Tensor, seed: int, offset: int, *, per_thread: int = _WORDS_PER_BLOCK):
    output = Output((COUNT,), dtype)
    arguments = [output.device, parameters, i64(seed, offset), u32(COUNT)]
    getattr(library, f"{kernel}_{METAL_NAME[dtype]}")(*arguments, threads=[math.ceil(COUNT / per_thread)])
    return output.read()


def _pointwise(name: str, kernel: str, parameters: tuple[float, float], method: str, *arguments, dtypes=FLOATS) -> Draw:
    def op(dtype, source):
        return getattr(torch.empty(COUNT, dtype=dtype, device="mps"), method)(*arguments, generator=source)

    def run(library, dtype, seed, offset):
        return _launch(library, kernel, dtype, pack("2f", *parameters), seed, offset)

    return Draw(name, dtypes, op, run)


def _random_integers(low: int, high: int) -> Draw:
    def op(dtype, source):
        return torch.empty(COUNT, dtype=dtype, device="mps").random_(low, high, generator=source)

    def run(library, dtype, seed, offset):
        per_thread = 2 if dtype.itemsize == 8 else _WORDS_PER_BLOCK
        return _launch(library, "random_int", dtype, i64(low, high - low), seed, offset, per_thread=per_thread)

    return Draw(f"random_({low}, {high})", (*INTEGERS, *FLOATS), op, run)


def _bernoulli_tensor() -> Draw:
    def probabilities():
        return torch.linspace(0, 1, COUNT)

    def op(dtype, source):
        return torch.empty(COUNT, dtype=dtype, device="mps").bernoulli_(probabilities().to("mps"), generator=source)

    def run(library, dtype, seed, offset):
        output, errors = Output((COUNT,), dtype), ErrorBuffer.empty()
        arguments = [output.device, to_device(probabilities()), i64(seed, offset), u32(COUNT), errors.device]
        getattr(library, f"bernoulli_tensor_{METAL_NAME[dtype]}")(*arguments, threads=[math.ceil(COUNT / _WORDS_PER_BLOCK)])
        return output.read()

    return Draw("bernoulli_(tensor)", (*FLOATS, torch.bool, torch.int32), op, run)


def _counted(name: str, kernel: str, inputs: Callable[[torch.dtype], list[torch.Tensor]], op: Callable) -> Draw:
    """An op with one value for each element of its parameters, and 32 blocks for each."""

    def run_op(dtype, source):
        return op(*(values.to("mps") for values in inputs(dtype)), generator=source)

    def run(library, dtype, seed, offset):
        output = Output((COUNT,), dtype)
        arguments = [output.device, *map(to_device, inputs(dtype)), i64(seed, offset)]
        getattr(library, f"{kernel}_{METAL_NAME[dtype]}")(*arguments, threads=[COUNT])
        return output.read()

    return Draw(name, FLOATS, run_op, run)


def _rates(dtype: torch.dtype) -> list[torch.Tensor]:
    # Both methods, and what has no count.
    rates = torch.cat([torch.linspace(0, 20, 2000), torch.linspace(20, 5000, COUNT - 2004), torch.tensor([-1.0, math.inf, math.nan, 10.0])])
    return [rates.to(dtype)]


def _trials(dtype: torch.dtype) -> list[torch.Tensor]:
    chances = torch.linspace(-0.05, 1.05, COUNT)
    return [(torch.arange(COUNT) % 200).to(dtype), chances[torch.arange(COUNT) * 1999 % COUNT].to(dtype)]


def _dropout() -> Draw:
    def values(dtype):
        return torch.linspace(-3, 3, COUNT).to(dtype)

    def op(dtype, source):
        default = torch.mps._get_default_mps_generator()
        before = default.get_state()
        default.set_state(source.get_state())
        try:
            return torch.nn.functional.dropout(values(dtype).to("mps"), 0.3)
        finally:
            default.set_state(before)

    def run(library, dtype, seed, offset):
        output, mask = Output((COUNT,), dtype), Output((COUNT,), torch.bool)
        parameters = pack("2f", 1 - 0.3, 1 / (1 - 0.3))
        arguments = [output.device, mask.device, to_device(values(dtype)), parameters, i64(seed, offset), u32(COUNT)]
        getattr(library, f"dropout_fwd_{METAL_NAME[dtype]}")(*arguments, threads=[math.ceil(COUNT / _WORDS_PER_BLOCK)])
        return output.read()

    return Draw("dropout", FLOATS, op, run)


def _small_permutation(count: int) -> Draw:
    def op(dtype, source):
        return torch.randperm(count, dtype=dtype, device="mps", generator=source)

    def run(library, dtype, seed, offset):
        output = Output((count,), dtype)
        kernel = getattr(library, f"randperm_small_{METAL_NAME[dtype]}")
        kernel(output.device, i64(seed, offset), u32(count), threads=[384], group_size=[384])
        return output.read()

    return Draw(f"randperm({count})", (torch.int32, torch.int64), op, run)


def _large_permutation(count: int) -> Draw:
    def op(dtype, source):
        return torch.randperm(count, dtype=dtype, device="mps", generator=source)

    def run(library, dtype, seed, offset):
        keys = Output((count,), torch.int32)
        library.random_int_int(keys.device, i64(0, 1 << 24), i64(seed, offset), u32(count), threads=[math.ceil(count / _WORDS_PER_BLOCK)])
        sorted_keys, order = keys.read().sort(stable=True)
        output = Output((count,), dtype, initial=order.to(dtype))
        kernel = getattr(library, f"randperm_dedup_islands_{METAL_NAME[dtype]}")
        place = i64(seed, offset + math.ceil(count / _WORDS_PER_BLOCK))
        kernel(output.device, to_device(sorted_keys), place, u32(count), threads=[count])
        return output.read()

    return Draw(f"randperm({count})", (torch.int32, torch.int64), op, run)


DRAWS = [
    _pointwise("uniform_", "uniform_dist", (-2.0, 3.0), "uniform_", -2.0, 3.0),
    _pointwise("normal_", "normal", (0.5, 2.0), "normal_", 0.5, 2.0),
    _pointwise("log_normal_", "log_normal", (0.0, 0.25), "log_normal_", 0.0, 0.25),
    _pointwise("exponential_", "exponential", (2.0, 0.0), "exponential_", 2.0),
    _pointwise("cauchy_", "cauchy", (0.5, 2.0), "cauchy_", 0.5, 2.0),
    _pointwise("geometric_", "geometric", (math.log1p(-0.25), 0.0), "geometric_", 0.25, dtypes=(*FLOATS, torch.int32, torch.int64)),
    _pointwise("bernoulli_", "bernoulli_scalar", (0.3, 0.0), "bernoulli_", 0.3, dtypes=(*FLOATS, torch.bool, torch.int8, torch.int64)),
    _random_integers(0, 10),
    _random_integers(3, 103),
    _bernoulli_tensor(),
    _counted("poisson", "poisson", _rates, torch.poisson),
    _counted("binomial", "standard_binomial", _trials, torch.binomial),
    _counted("_standard_gamma", "standard_gamma", lambda dtype: [torch.linspace(0, 20, COUNT).to(dtype)], torch._standard_gamma),
    _dropout(),
    _small_permutation(7),
    _small_permutation(384),
    _large_permutation(40_000),
]


def difference(draw: Draw, library, dtype: torch.dtype) -> str:
    """Draws a seed and compares: what differs, or an empty text."""
    seed, offset = random.randrange(2**63), random.randrange(2**33)
    source = generator(seed, offset)
    given, wanted = draw.op(dtype, source).cpu(), draw.kernel(library, dtype, seed, offset)
    same = (given == wanted) | (given.isnan() & wanted.isnan() if dtype.is_floating_point else torch.tensor(False))
    wrong = (~same).nonzero().flatten().tolist()
    if not wrong:
        return ""
    first = wrong[0]
    return (
        f"{draw.name} {dtype}, seed {seed}, offset {offset}: {len(wrong)} of {len(given)} differ, "
        f"first at {first}: {given[first].item()!r}, the kernel gives {wanted[first].item()!r}"
    )
