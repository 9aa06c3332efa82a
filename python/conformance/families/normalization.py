"""Softmax in every form, layer norm, RMS norm, group norm and its gradients."""

import math
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from conformance.cases import Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.inputs import PLAIN, Domain, draw
from conformance.memory import Operand, Output, f32, i64, pack, padded, to_device, u32

FLOATS = ("float", "half", "bfloat")
TOLERANCE = Tolerance(2e-6, 2e-6)
LANES = 32
GROUP = 256
NDIM_MAX = 16


def _softmax_params(x: torch.Tensor, strides, dim: int, index: str, chunk: int = 0) -> torch.Tensor:
    letter = {"u32": "I", "u64": "Q"}[index]
    inner = math.prod(x.shape[dim + 1 :])
    length = x.shape[dim]
    chunks = math.ceil(length / chunk) if chunk else 0
    arrays = [*padded(x.shape, NDIM_MAX), *padded(strides, NDIM_MAX)]
    counts = [length, x.numel() // length, inner, chunk, chunks]
    return pack(f"5{letter}2I{2 * NDIM_MAX}{letter}", *counts, x.dim(), dim, *arrays)


def _softmax_cases(name: str, reference: Callable, library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        for index in ("u32", "u64"):
            dtype = METAL[kind]
            tolerance = rounded(TOLERANCE, dtype)

            rows = draw(dtype, (13, 211), PLAIN)
            source, output = Operand(rows), Output(rows.shape, dtype)
            params = _softmax_params(rows, source.strides, 1, index)
            launch = Launch(f"{name}_row_{kind}_{index}", [source.device, output.device, params], (2 * GROUP,), (GROUP,))
            yield Case([launch], [Check(output, reference(rows.double(), 1).to(dtype), tolerance)])

            block = draw(dtype, (3, 37, 21), PLAIN)
            source, output = Operand(block, "strided"), Output(block.shape, dtype)
            params = _softmax_params(block, source.strides, 1, index)
            launch = Launch(f"{name}_{kind}_{index}", [source.device, output.device, params], (24, 3 * 32), (8, 32))
            yield Case([launch], [Check(output, reference(block.double(), 1).to(dtype), tolerance)])

            long, chunk = draw(dtype, (3, 2500), PLAIN), 600
            source, output = Operand(long), Output(long.shape, dtype)
            params = _softmax_params(long, source.strides, 1, index, chunk)
            partials = Output((3 * 5, 2), torch.float32)
            threads, group = (5 * GROUP, 3), (GROUP, 1)
            first = Launch(f"softmax_partial_{kind}_{index}", [source.device, partials.device, params], threads, group)
            second = [source.device, output.device, partials.device, params]
            second = Launch(f"{name}_finalize_{kind}_{index}", second, threads, group)
            yield Case([first, second], [Check(output, reference(long.double(), 1).to(dtype), tolerance)])


def _softmax_family(name: str, reference: Callable) -> Family:
    return Family(name, "normalization", lambda library: _softmax_cases(name, reference, library))


def _layer_norm(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        dtype = METAL[kind]
        for variant, size, group in [("single_row", 1000, 256), ("single_row", 96, 32), ("looped", 1300, 64)]:
            for index in ("i32", "i64"):
                name = f"layer_norm_{variant}_{index}_{kind}"
                if not library.has(name):
                    continue
                x, weight, bias = draw(dtype, (7, size), PLAIN), draw(dtype, (size,), PLAIN), draw(dtype, (size,), PLAIN)
                output, mean, rstd = Output(x.shape, dtype), Output((7,), dtype), Output((7,), dtype)
                wide = x.double()
                want = functional.layer_norm(wide, (size,), weight.double(), bias.double(), 1e-5).to(dtype)
                deviation = (wide.var(1, correction=0) + 1e-5).rsqrt()
                arguments = [to_device(x), output.device, mean.device, rstd.device, i64(size), f32(1e-5), to_device(weight), to_device(bias)]
                tolerance = rounded(Tolerance(3e-6, 1e-5), dtype)
                checks = [Check(output, want, tolerance), Check(mean, wide.mean(1).to(dtype), tolerance)]
                checks.append(Check(rstd, deviation.to(dtype), tolerance))
                yield Case([Launch(name, arguments, (7 * group,), (group,))], checks)


def _rms_norm(library: Library) -> Iterator[Case]:
    for kind in FLOATS:
        dtype = METAL[kind]
        for variant, size, group in [("", 1000, 256), ("", 100, 32), ("_looped", 5000, 1024)]:
            x, weight = draw(dtype, (5, size), PLAIN), draw(dtype, (size,), PLAIN)
            output = Output(x.shape, dtype)
            want = functional.rms_norm(x.double(), (size,), weight.double(), 1e-5).to(dtype)
            arguments = [to_device(x), to_device(weight), output.device, f32(1e-5), u32(size), u32(1)]
            # The kernel rounds to the dtype before it multiplies with the weight.
            tolerance = rounded(rounded(TOLERANCE, dtype), dtype)
            yield Case([Launch(f"rms_norm{variant}_{kind}", arguments, (5 * group,), (group,))], [Check(output, want, tolerance)])


N, CHANNELS, SPATIAL, GROUPS = 2, 12, 35, 3


def _group_params(letter: str) -> torch.Tensor:
    per_group = CHANNELS // GROUPS
    counts = [SPATIAL, GROUPS, per_group, per_group * SPATIAL, CHANNELS, N * SPATIAL]
    return pack(f"6{letter}f" + ("4x" if letter == "Q" else ""), *counts, 1e-5)


def _group_norm_types(library: Library, prefix: str, count: int) -> Iterator[tuple[str, list[str], str]]:
    """Names of kernels with `prefix`, the Metal types in them, and the letter of the index type."""
    for name in sorted(library.names):
        parts = name.removeprefix(prefix).split("_") if name.startswith(prefix) else []
        if len(parts) == count + 2 and all(part in METAL or part == "void" for part in parts[:count]):
            yield name, parts[:count], {"uint32": "I", "uint64": "Q"}[parts[count]]


def _group_norm(library: Library) -> Iterator[Case]:
    for name, (kind, stat, gamma, beta), letter in _group_norm_types(library, "group_norm_", 4):
        x = draw(METAL[kind], (N, CHANNELS, SPATIAL), PLAIN)
        affine = [None if each == "void" else draw(METAL[each], (CHANNELS,), PLAIN) for each in (gamma, beta)]
        wide = [None if each is None else each.double() for each in affine]
        want = functional.group_norm(x.double(), GROUPS, wide[0], wide[1], 1e-5).to(x.dtype)
        groups = x.double().reshape(N * GROUPS, -1)
        mean, rstd = Output((N * GROUPS,), METAL[stat]), Output((N * GROUPS,), METAL[stat])
        output, unused = Output(x.shape, x.dtype), u32(0)
        arguments = [output.device, mean.device, rstd.device, to_device(x)]
        arguments += [unused if each is None else to_device(each) for each in affine] + [_group_params(letter)]
        loose = Tolerance(1e-5, 2e-5)
        checks = [Check(output, want, rounded(loose, x.dtype))]
        checks.append(Check(mean, groups.mean(1).to(METAL[stat]), rounded(loose, METAL[stat])))
        rstd_want = (groups.var(1, correction=0) + 1e-5).rsqrt().to(METAL[stat])
        checks.append(Check(rstd, rstd_want, rounded(loose, METAL[stat])))
        yield Case([Launch(name, arguments, (N * GROUPS * 64,), (64,))], checks)


def _group_gradients(x: torch.Tensor, dy: torch.Tensor, gamma: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
    wide = x.double().requires_grad_()
    weight = (torch.ones(CHANNELS) if gamma is None else gamma).double().requires_grad_()
    bias = torch.zeros(CHANNELS, dtype=torch.float64, requires_grad=True)
    functional.group_norm(wide, GROUPS, weight, bias, 1e-5).backward(dy.double())
    return wide.grad, weight.grad, bias.grad


def _group_statistics(x: torch.Tensor, kind: str) -> list[torch.Tensor]:
    groups = x.double().reshape(N * GROUPS, -1)
    return [to_device(each.to(METAL[kind])) for each in (groups.mean(1), (groups.var(1, correction=0) + 1e-5).rsqrt())]


def _group_norm_backward_x(library: Library) -> Iterator[Case]:
    for name, (kind, stat, gamma), letter in _group_norm_types(library, "group_norm_backward_x_", 3):
        x, dy = (draw(METAL[kind], (N, CHANNELS, SPATIAL), Domain(-2, 2, False)) for _ in range(2))
        weight = None if gamma == "void" else draw(METAL[gamma], (CHANNELS,), Domain(-2, 2, False))
        output = Output(x.shape, x.dtype)
        arguments = [output.device, to_device(dy), to_device(x), *_group_statistics(x, stat)]
        arguments += [u32(0) if weight is None else to_device(weight), _group_params(letter)]
        # Statistics in a narrow type are rounded before they come in.
        tolerance = rounded(rounded(Tolerance(1e-5, 2e-5), x.dtype), METAL[stat], 2)
        want = _group_gradients(x, dy, weight)[0].to(x.dtype)
        yield Case([Launch(name, arguments, (N * GROUPS * 64,), (64,))], [Check(output, want, tolerance)])


def _group_norm_backward_affine(library: Library) -> Iterator[Case]:
    for name, (kind, stat, gamma), letter in _group_norm_types(library, "group_norm_backward_affine_", 3):
        x, dy = (draw(METAL[kind], (N, CHANNELS, SPATIAL), Domain(-2, 2, False)) for _ in range(2))
        dgamma, dbeta = Output((CHANNELS,), METAL[gamma]), Output((CHANNELS,), METAL[gamma])
        arguments = [dgamma.device, dbeta.device, to_device(dy), to_device(x), *_group_statistics(x, stat), _group_params(letter)]
        _, weight, bias = _group_gradients(x, dy, None)
        # Sums over 70 products; rounded statistics move each of them.
        tolerance = rounded(Tolerance(2e-5, 1e-4 if stat == "float" else 0.2), METAL[gamma])
        checks = [Check(dgamma, weight.to(METAL[gamma]), tolerance), Check(dbeta, bias.to(METAL[gamma]), tolerance)]
        yield Case([Launch(name, arguments, (CHANNELS * 32,), (32,))], checks)


FAMILIES = [
    _softmax_family("softmax", torch.softmax),
    _softmax_family("log_softmax", torch.log_softmax),
    Family("layer_norm", "normalization", _layer_norm),
    Family("rms_norm", "normalization", _rms_norm),
    Family("group_norm", "normalization", _group_norm),
    Family("group_norm_backward_x", "normalization", _group_norm_backward_x),
    Family("group_norm_backward_affine", "normalization", _group_norm_backward_affine),
]
