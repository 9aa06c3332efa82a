"""Random small programs, run on the CPU and on the device: values, dtypes, shapes, strides and errors must agree.

The device runs ATen's own kernels over the same memory, so results may differ only where a kernel sums in another order
(stated tolerances below). Steps that the device refuses because Metal's kernels do are left out. A program is a list of steps; each step takes earlier results and appends new ones. A failure
prints the program and the seed: ``OPENMPS_TEST_SEED=<n>`` repeats it.
"""

import math
import random
import time

import pytest
import torch
import torch.nn.functional as F

from refusal_table import is_refusal

#: Programs of one run, and the seconds after which it stops early (a busy machine).
_PROGRAMS = 300
_SECONDS = 20.0
_STEPS = 8
_DTYPES = [
    torch.float32, torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool, torch.complex64,
]  # fmt: skip

_UNARY = "abs neg exp sqrt sin tanh sigmoid floor sign square logical_not isnan reciprocal positive conj angle real".split()
_BINARY = "add sub mul div maximum minimum eq ne lt ge logical_and logical_xor bitwise_and bitwise_or remainder floor_divide fmod".split()
_IN_PLACE = "add_ sub_ mul_ div_ logical_or_ logical_xor_".split()
_REDUCTIONS = "sum prod mean amax amin any all argmax argmin logsumexp std nansum count_nonzero cumsum cumprod softmax".split()


def _shape(rng):
    return [rng.choice([0, 1, 1, 2, 3, 4, 5]) for _ in range(rng.choice([0, 1, 2, 2, 3, 3, 4]))]


def _fill(rng, shape, dtype):
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    values = torch.randn(shape, generator=generator) * rng.choice([1, 1, 4])
    if dtype.is_complex:
        return torch.complex(values, torch.randn(shape, generator=generator)).to(dtype)
    return (values.abs() if dtype == torch.uint8 else values).to(dtype)


def _input(rng):
    """A CPU tensor: dense, transposed, sliced, expanded, or with a storage offset."""
    tensor = _fill(rng, _shape(rng), rng.choice(_DTYPES))
    kind = rng.randrange(6)
    if kind == 0 and tensor.dim() >= 2:
        tensor = tensor.transpose(0, -1)
    elif kind == 1 and tensor.dim() >= 1:
        tensor = torch.cat([tensor, tensor])[:: rng.choice([1, 2])]
    elif kind == 2 and tensor.dim() >= 1:
        tensor = torch.cat([tensor, tensor])[tensor.shape[0] :]
    return tensor


def _copy(target, source):
    """`copy_`, except between tensors without elements, where MPS differs by contract (it resizes, or checks nothing)."""
    return target.copy_(source) if target.numel() and source.numel() else None


def _axis(rng):
    return rng.choice([0, 1, -1, -1, 2])


def _step(rng, count):
    """One step as (text, function of the list of results so far)."""
    a, b, c = (rng.randrange(count) for _ in range(3))
    axis, other = _axis(rng), _axis(rng)
    name, scalar = rng.choice(_BINARY), rng.choice([2, 0.5, True, -3, 1 + 2j, 0])
    unary, reduction, in_place = rng.choice(_UNARY), rng.choice(_REDUCTIONS), rng.choice(_IN_PLACE)
    n = rng.choice([0, 1, 2, 3])
    dtype = rng.choice(_DTYPES)
    keep = rng.choice([True, False])
    index_seed = rng.randrange(2**31)

    def indices(x, like):
        generator = torch.Generator().manual_seed(index_seed)
        return torch.randint(-1, 3, (n,), generator=generator).to(like.device)

    def out_of(function):
        def call(r):
            out = r[c].detach().clone()
            function(r, out)
            return out

        return call

    choices = [
        (f"torch.{unary}(r[{a}])", lambda r: getattr(torch, unary)(r[a])),
        (f"torch.{name}(r[{a}], r[{b}])", lambda r: getattr(torch, name)(r[a], r[b])),
        (f"torch.{name}(r[{a}], r[{b}])", lambda r: getattr(torch, name)(r[a], r[b])),
        (f"torch.{name}(r[{a}], {scalar})", lambda r: getattr(torch, name)(r[a], scalar)),
        (f"torch.{name}(r[{a}], r[{b}], out=r[{c}].clone())", out_of(lambda r, out: getattr(torch, name)(r[a], r[b], out=out))),
        (f"r[{a}].{in_place}(r[{b}])", lambda r: getattr(r[a], in_place)(r[b])),
        (f"r[{a}].clamp_min_(r[{b}])", lambda r: r[a].clamp_min_(r[b])),
        (f"r[{a}].copy_(r[{b}])", lambda r: _copy(r[a], r[b])),
        (f"r[{a}][..., {n}:].{in_place}(2)", lambda r: getattr(r[a][..., n:], in_place)(torch.tensor(2))),
        (f"torch.{reduction}(r[{a}], {axis})", lambda r: getattr(torch, reduction)(r[a], axis)),
        (f"torch.sum(r[{a}], {axis}, keepdim={keep}, dtype={dtype})", lambda r: torch.sum(r[a], axis, keepdim=keep, dtype=dtype)),
        (f"torch.sum(r[{a}], {axis}, out=r[{c}].clone())", out_of(lambda r, out: torch.sum(r[a], axis, out=out))),
        (f"r[{a}].max({axis})", lambda r: r[a].max(axis)),
        (f"r[{a}].sort({axis}, stable=True)", lambda r: r[a].sort(axis, stable=True)),
        (f"r[{a}].transpose({axis}, {other})", lambda r: r[a].transpose(axis, other)),
        (f"r[{a}].unsqueeze({axis})", lambda r: r[a].unsqueeze(axis)),
        (f"r[{a}].squeeze()", lambda r: r[a].squeeze()),
        (f"r[{a}].flatten()", lambda r: r[a].flatten()),
        (f"r[{a}].reshape(-1, {n})", lambda r: r[a].reshape(-1, n)),
        (f"r[{a}].flip({axis})", lambda r: r[a].flip(axis)),
        (f"r[{a}].roll({n}, {axis})", lambda r: r[a].roll(n, axis)),
        (f"r[{a}].expand({n}, *shape)", lambda r: r[a].expand(n, *r[a].shape)),
        (f"r[{a}].narrow({axis}, 1, {n})", lambda r: r[a].narrow(axis, 1, n)),
        (f"r[{a}].unfold({axis}, 2, 1)", lambda r: r[a].unfold(axis, 2, 1)),
        (f"r[{a}].diagonal()", lambda r: r[a].diagonal()),
        (f"r[{a}].tril({n - 1})", lambda r: r[a].tril(n - 1)),
        (f"r[{a}].chunk(2, {axis})", lambda r: r[a].chunk(2, axis)),
        (f"torch.cat([r[{a}], r[{b}]], {axis})", lambda r: torch.cat([r[a], r[b]], axis)),
        (f"torch.stack([r[{a}], r[{b}]], {axis})", lambda r: torch.stack([r[a], r[b]], axis)),
        (f"r[{a}].contiguous()", lambda r: r[a].contiguous()),
        (f"r[{a}].to({dtype})", lambda r: r[a].to(dtype)),
        (f"r[{a}].view({dtype})", lambda r: r[a].view(dtype)),
        (f"r[{a}].clone(memory_format=torch.channels_last)", lambda r: r[a].clone(memory_format=torch.channels_last)),
        (f"torch.where(r[{a}].bool(), r[{b}], r[{c}])", lambda r: torch.where(r[a].bool(), r[b], r[c])),
        (f"r[{a}][r[{a}].bool()]", lambda r: r[a][r[a].bool()]),
        (f"r[{a}][indices]", lambda r: r[a][indices(r[a], r[a])]),
        (f"r[{a}].index_select({axis}, indices.abs())", lambda r: r[a].index_select(axis, indices(r[a], r[a]).abs())),
        (f"r[{a}][indices] = r[{b}]", lambda r: r[a].__setitem__(indices(r[a], r[a]), r[b])),
        (f"r[{a}][..., 0] = {scalar}", lambda r: r[a].__setitem__((..., 0), scalar)),
        (f"r[{a}].masked_fill_(r[{b}].bool(), {scalar})", lambda r: r[a].masked_fill_(r[b].bool(), scalar)),
        (f"r[{a}].nonzero()", lambda r: r[a].nonzero()),
        (f"r[{a}].unique()", lambda r: r[a].unique()),
        (f"torch.matmul(r[{a}], r[{b}])", lambda r: torch.matmul(r[a], r[b])),
        (f"torch.matmul(r[{a}], r[{a}].mT)", lambda r: torch.matmul(r[a], r[a].mT)),
        (f"torch.matmul(r[{a}], r[{a}].mT, out=r[{c}].clone())", out_of(lambda r, out: torch.matmul(r[a], r[a].mT, out=out))),
        (f"F.conv1d(r[{a}], ones)", lambda r: F.conv1d(r[a], r[a].new_ones(2, r[a].shape[1], 2), padding=1)),
        (f"F.layer_norm(r[{a}])", lambda r: F.layer_norm(r[a], r[a].shape[-1:])),
        (f"F.normalize(r[{a}], dim={axis})", lambda r: F.normalize(r[a], dim=axis)),
        (f"r[{a}].norm()", lambda r: r[a].norm()),
        (f"F.pad(r[{a}], (1, {n}))", lambda r: F.pad(r[a], (1, n))),
        (f"torch.addcmul(r[{a}], r[{b}], r[{c}])", lambda r: torch.addcmul(r[a], r[b], r[c])),
        (f"r[{a}].resize_({n}, 2)", lambda r: r[a].clone().resize_(min(n, r[a].numel() // 2), 2)),
        (f"torch._foreach_add([r[{a}], r[{b}]], {scalar})", lambda r: torch._foreach_add([r[a], r[b]], scalar)),
        (f"r[{a}].scatter_add(0, indices, r[{b}])", lambda r: r[a].flatten().scatter_add(0, indices(r[a], r[a]).abs(), r[b].flatten())),
    ]  # fmt: skip
    return rng.choice(choices)


def _run(function, results):
    """New results of a step, or what it raised."""
    try:
        value = function(results)
    except Exception as error:  # noqa: BLE001: whatever it is, the other device must say the same
        return error
    values = value if isinstance(value, list | tuple) else [value]
    return [value for value in values if isinstance(value, torch.Tensor)]


_TOLERANCES = {torch.float16: 2e-2, torch.complex32: 2e-2, torch.bfloat16: 1e-1, torch.bcomplex32: 1e-1}


def _close(ours, theirs):
    """Whether two CPU tensors agree; float kernels may sum in another order."""
    if ours.dtype.is_floating_point or ours.dtype.is_complex:
        tolerance = _TOLERANCES.get(ours.dtype, 1e-4)
        if ours.dtype.is_complex:  # Half-precision complex numbers have no `abs` on the CPU.
            ours, theirs = ours.to(torch.complex64), theirs.to(torch.complex64)
        finite = theirs.abs().float().nan_to_num(0, 0, 0)
        scale = float(finite.max()) if finite.numel() else 1.0
        return torch.allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(scale, 1e-6), equal_nan=True)
    return torch.equal(ours, theirs)


def _difference(ours, theirs):
    """What is wrong with the device's result, or None."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        if type(ours) is type(theirs):
            return None
        return f"cpu: {theirs!r}\nmps: {ours!r}"
    if len(ours) != len(theirs):
        return f"{len(ours)} results instead of {len(theirs)}"
    for mine, reference in zip(ours, theirs, strict=True):
        if mine.device.type != "mps":
            return f"the result is on {mine.device}"
        for what in ("dtype", "shape", "storage_offset", "is_conj", "is_neg"):
            value, wanted = (getattr(tensor, what) for tensor in (mine, reference))
            value, wanted = (value(), wanted()) if callable(value) else (value, wanted)
            if value != wanted:
                return f"{what} is {value} instead of {wanted}"
        if mine.stride() != reference.stride():
            return f"strides are {mine.stride()} instead of {reference.stride()} (shape {tuple(mine.shape)})"
        if not _close(mine.cpu(), reference):
            return f"values differ:\n{mine.cpu()}\ninstead of\n{reference}"
    return None


def _to_device(tensor):
    """A copy on the device with the same strides and storage offset."""
    storage = torch.empty(0, dtype=tensor.dtype, device="cpu").set_(tensor.untyped_storage()).to("mps")
    return torch.as_strided(storage, tensor.shape, tensor.stride(), tensor.storage_offset())


def _program(seed):
    """Runs one program on both devices; returns what went wrong, or None."""
    rng = random.Random(seed)
    reference = [_input(rng) for _ in range(3)]
    actual = [_to_device(tensor) for tensor in reference]
    lines = [f"r[{i}]: {t.dtype} {tuple(t.shape)} strides {t.stride()} offset {t.storage_offset()}" for i, t in enumerate(reference)]
    for _ in range(_STEPS):
        text, function = _step(rng, len(reference))
        # A failed step may have changed a tensor half way: only successful ones are looked at again.
        theirs, ours = _run(function, reference), _run(function, actual)
        if isinstance(ours, Exception) and is_refusal(ours):
            continue
        kind = type(theirs).__name__ if isinstance(theirs, Exception) else f"r[{len(reference)}:]"
        lines.append(f"{kind} = {text}")
        wrong = _difference(ours, theirs)
        if wrong is None and not isinstance(theirs, Exception):
            wrong = _difference(actual, reference)
        if wrong is not None:
            return "\n".join([f"program {seed}:", *lines, wrong])
        if not isinstance(theirs, Exception):
            reference.extend(theirs[:2])
            actual.extend(ours[:2])
        if any(tensor.numel() > 100_000 for tensor in reference):
            break
    return None


@pytest.mark.filterwarnings("ignore")
def test_random_programs(seed):
    deadline = time.monotonic() + _SECONDS
    for number in range(_PROGRAMS):
        wrong = _program(seed * 1000 + number)
        assert wrong is None, wrong
        if time.monotonic() > deadline:
            assert number > 10, "too slow to say anything"
            break
