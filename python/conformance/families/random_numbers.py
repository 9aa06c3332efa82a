"""Random numbers: bit for bit where the algorithm is stated (Philox with nine rounds), by moments elsewhere."""

import math
from collections.abc import Callable, Iterator

import torch

from conformance.cases import Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.memory import ErrorBuffer, Output, i64, pack, to_device, u32

COUNT = 20_003
PER_THREAD = 4
FLOATS = ("float", "half", "bfloat")
MASK = 0xFFFFFFFF


def philox(seed: int, offset: int, blocks: int) -> torch.Tensor:
    """Four words for each counter from `offset` on, as the compiled kernels make them: counter and key in reversed order, nine rounds."""
    counters = offset + torch.arange(blocks, dtype=torch.int64)
    words = [torch.zeros_like(counters), torch.zeros_like(counters), counters >> 32, counters & MASK]
    key = [seed >> 32 & MASK, seed & MASK]
    for _ in range(9):
        low, high = zip(*(_product(words[place], factor) for place, factor in ((0, 0xD2511F53), (2, 0xCD9E8D57))))
        words = [key[0] ^ words[1] ^ high[1], low[1], key[1] ^ words[3] ^ high[0], low[0]]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return torch.stack(words, 1)


def _product(word: torch.Tensor, factor: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Low and high half of a product of 32-bit words, in signed 64-bit arithmetic."""
    low = (word & 0xFFFF) * factor
    high = (word >> 16) * factor + (low >> 16)
    return ((high & 0xFFFF) << 16) | (low & 0xFFFF), high >> 16


def _unit(words: torch.Tensor) -> torch.Tensor:
    """Uniform floats below one from words."""
    largest = torch.tensor(2.0**-31).nextafter(torch.tensor(0.0))
    return (words & 0x7FFFFFFF).to(torch.float32) * largest


def _seed() -> tuple[int, int]:
    return int(torch.randint(0, 2**62, ()).item()), int(torch.randint(0, 2**40, ()).item())


def _uniform(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        dtype, (seed, offset) = METAL[kind], _seed()
        low, high = -2.0, 3.0
        unit = _unit(philox(seed, offset, math.ceil(COUNT / PER_THREAD))).reshape(-1)[:COUNT].double()
        want = ((high - low) * unit + low).to(torch.float32).to(dtype)
        want = torch.where(want >= high, torch.tensor(low, dtype=dtype), want)
        output = Output((COUNT,), dtype)
        arguments = [output.device, pack("2f", low, high), i64(seed, offset), u32(COUNT)]
        tolerance = Tolerance(1e-6, 1e-6) if kind == "float" else rounded(Tolerance(1e-6, 1e-6), dtype)
        yield Case([Launch(f"uniform_dist_{kind}", arguments, (math.ceil(COUNT / PER_THREAD),))], [Check(output, want, tolerance)])


def _normal(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        dtype, (seed, offset) = METAL[kind], _seed()
        mean, deviation = 1.5, 2.0
        units = _unit(philox(seed, offset, math.ceil(COUNT / PER_THREAD))).double()
        radius = (-2 * units[:, ::2].clamp_min(2.0**-23).log()).sqrt()
        angle = 2 * math.pi * units[:, 1::2]
        pairs = torch.stack([radius * angle.cos(), radius * angle.sin()], 2)
        want = (pairs.reshape(-1)[:COUNT] * deviation + mean).to(dtype)
        output = Output((COUNT,), dtype)
        arguments = [output.device, pack("2f", mean, deviation), i64(seed, offset), u32(COUNT)]
        tolerance = rounded(Tolerance(1e-5, 2e-5), dtype)
        yield Case([Launch(f"normal_{kind}", arguments, (math.ceil(COUNT / PER_THREAD),))], [Check(output, want, tolerance)])


def _moments(output: Output, mean: float, variance: float, low: float, high: float) -> list[Check]:
    """Mean and variance within six standard errors, as for a sample of this size, and all values in range."""

    def sample_mean() -> torch.Tensor:
        return output.read().double().mean()

    def sample_variance() -> torch.Tensor:
        return output.read().double().var()

    def in_range() -> torch.Tensor:
        values = output.read().double()
        return ((values >= low) & (values <= high)).all()

    # The variance of a sample variance is bounded for these distributions by ten times that of a normal's.
    tolerances = Tolerance(0, 6 * math.sqrt(variance / COUNT)), Tolerance(0, 6 * variance * math.sqrt(20 / COUNT))
    wanted = [torch.tensor(value, dtype=torch.float64) for value in (mean, variance)]
    checks = [Check(*each) for each in zip((sample_mean, sample_variance), wanted, tolerances)]
    return [*checks, Check(in_range, torch.tensor(True))]


def _statistical(name: str, parameters: tuple[float, float], mean: float, variance: float, low: float, high: float) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in METAL:
            if not library.has(f"{name}_{kind}") or METAL[kind] in (torch.bool, torch.uint8):
                continue
            output = Output((COUNT,), METAL[kind])
            arguments = [output.device, pack("2f", *parameters), i64(*_seed()), u32(COUNT)]
            launch = Launch(f"{name}_{kind}", arguments, (math.ceil(COUNT / PER_THREAD),))
            yield Case([launch], _moments(output, mean, variance, low, high))

    return Family(name, "random", cases)


def _bernoulli(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        if not library.has(f"bernoulli_scalar_{kind}"):
            continue
        output = Output((COUNT,), dtype)
        arguments = [output.device, pack("2f", 0.3, 0.0), i64(*_seed()), u32(COUNT)]
        launch = Launch(f"bernoulli_scalar_{kind}", arguments, (math.ceil(COUNT / PER_THREAD),))
        yield Case([launch], _moments(output, 0.3, 0.21, 0, 1))


def _random_integers(library: Library) -> Iterator[Case]:
    for kind, dtype in METAL.items():
        if not library.has(f"random_int_{kind}") or dtype == torch.bool:
            continue
        output, low, count = Output((COUNT,), dtype), 3, 100
        arguments = [output.device, i64(low, count), i64(*_seed()), u32(COUNT)]
        # A thread has 128 random bits: two numbers of 64 bits, or four others.
        per_thread = 2 if dtype.itemsize == 8 else PER_THREAD
        launch = Launch(f"random_int_{kind}", arguments, (math.ceil(COUNT / per_thread),))
        yield Case([launch], _moments(output, 52.5, (count**2 - 1) / 12, low, low + count - 1))


def _exponential(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        rate, output = 2.0, Output((COUNT,), METAL[kind])
        arguments = [output.device, pack("2f", rate, 0.0), i64(*_seed()), u32(COUNT)]
        launch = Launch(f"exponential_{kind}", arguments, (math.ceil(COUNT / PER_THREAD),))
        yield Case([launch], _moments(output, 1 / rate, 1 / rate**2, 0, math.inf))


def _dropout(library: Library) -> Iterator[Case]:
    for kind in METAL:
        if not library.has(f"dropout_fwd_{kind}"):
            continue
        dtype, drop = METAL[kind], 0.25
        x = torch.rand(COUNT).add(0.5).to(dtype) if not dtype.is_complex else torch.complex(torch.rand(COUNT), torch.rand(COUNT)).to(dtype)
        output, mask = Output((COUNT,), dtype), Output((COUNT,), torch.bool)
        arguments = [output.device, mask.device, to_device(x), pack("2f", 1 - drop, 1 / (1 - drop)), i64(*_seed()), u32(COUNT)]
        wide = torch.complex128 if dtype.is_complex else torch.float64

        def error(output=output, mask=mask, x=x, wide=wide) -> torch.Tensor:
            source = x.to(torch.complex64) if x.dtype == torch.complex32 else x
            result = output.read()
            result = result.to(torch.complex64) if result.dtype == torch.complex32 else result
            expected = source.to(wide) * mask.read() / (1 - drop)
            return ((result.to(wide) - expected).abs().max() / 2).reshape(1)

        checks = [Check(error, torch.zeros(1, dtype=torch.float64), Tolerance(0, rounded(Tolerance(1e-6), dtype).relative))]
        checks += _moments(mask, 1 - drop, drop * (1 - drop), 0, 1)
        yield Case([Launch(f"dropout_fwd_{kind}", arguments, (math.ceil(COUNT / PER_THREAD),))], checks)


def _poisson(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        rate, output = 4.0, Output((COUNT,), METAL[kind])
        rates = to_device(torch.full((COUNT,), rate, dtype=METAL[kind]))
        launch = Launch(f"poisson_{kind}", [output.device, rates, i64(*_seed())], (COUNT,))
        yield Case([launch], _moments(output, rate, rate, 0, math.inf))


def _gamma(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        for alpha in (0.5, 3.0):
            output = Output((COUNT,), METAL[kind])
            shapes = to_device(torch.full((COUNT,), alpha, dtype=METAL[kind]))
            launch = Launch(f"standard_gamma_{kind}", [output.device, shapes, i64(*_seed())], (COUNT,))
            yield Case([launch], _moments(output, alpha, alpha, 0, math.inf))


def _binomial(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        count, probability = 12.0, 0.25
        output = Output((COUNT,), METAL[kind])
        inputs = [to_device(torch.full((COUNT,), value, dtype=METAL[kind])) for value in (count, probability)]
        launch = Launch(f"standard_binomial_{kind}", [output.device, *inputs, i64(*_seed())], (COUNT,))
        yield Case([launch], _moments(output, count * probability, count * probability * (1 - probability), 0, count))


def _gradient(name: str, reference: Callable, inputs: int) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in FLOATS:
            dtype = METAL[kind]
            alpha = torch.rand(1003).mul(4).add(0.2).to(dtype)
            sample = torch.rand(1003).mul(0.8).add(0.1).to(dtype)
            values = [alpha, sample] if inputs == 2 else [sample, alpha, (alpha + 3).to(dtype)]
            want = reference(*[value.double() for value in values]).to(dtype)
            output = Output((1003,), dtype)
            launch = Launch(f"{name}_{kind}", [output.device, *map(to_device, values)], (1003,))
            yield Case([launch], [Check(output, want, rounded(Tolerance(2e-3, 1e-3), dtype))])

    return Family(name, "random", cases)


def _randperm(library: Library) -> Iterator[Case]:
    for kind in ("int", "long"):
        if not library.has(f"randperm_small_{kind}"):
            continue
        count = 1000
        output = Output((count,), METAL[kind])
        launch = Launch(f"randperm_small_{kind}", [output.device, i64(*_seed()), u32(count)], (1024,), (1024,))

        def ordered(output=output) -> torch.Tensor:
            return output.read().sort().values

        def moved(output=output) -> torch.Tensor:
            return (output.read() == torch.arange(count)).sum() < 20

        yield Case([launch], [Check(ordered, torch.arange(count).to(METAL[kind])), Check(moved, torch.tensor(True))])


def _bernoulli_tensor(library: Library) -> Iterator[Case]:
    for kind in METAL:
        if not library.has(f"bernoulli_tensor_{kind}") or kind not in FLOATS:
            continue
        dtype, errors = METAL[kind], ErrorBuffer.empty()
        output = Output((COUNT,), dtype)
        probabilities = to_device(torch.full((COUNT,), 0.25))
        arguments = [output.device, probabilities, i64(*_seed()), u32(COUNT), errors.device]
        launch = Launch(f"bernoulli_tensor_{kind}", arguments, (math.ceil(COUNT / PER_THREAD),))
        yield Case([launch], _moments(output, 0.25, 0.1875, 0, 1))


FAMILIES = [
    Family("uniform", "random", _uniform),
    Family("normal", "random", _normal),
    Family("bernoulli", "random", _bernoulli),
    Family("bernoulli of a tensor", "random", _bernoulli_tensor),
    Family("random_int", "random", _random_integers),
    Family("exponential", "random", _exponential),
    # The parameter is the logarithm of the chance to fail.
    _statistical("geometric", (math.log(0.75), 0.0), 4.0, 12.0, 1, math.inf),
    _statistical("log_normal", (0.0, 0.25), math.exp(0.03125), (math.exp(0.0625) - 1) * math.exp(0.0625), 0, math.inf),
    Family("dropout", "random", _dropout),
    Family("poisson", "random", _poisson),
    Family("standard_gamma", "random", _gamma),
    Family("standard_binomial", "random", _binomial),
    _gradient("standard_gamma_grad", torch.ops.aten._standard_gamma_grad, 2),
    _gradient("dirichlet_grad", torch._dirichlet_grad, 3),
    Family("randperm", "random", _randperm),
]
