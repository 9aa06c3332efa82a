"""Reductions over the innermost dimension, an outer one, several dimensions and whole tensors; argmax and argmin in one and two passes."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.families.unary import chosen
from conformance.inputs import ANY, PLAIN, Domain, draw
from conformance.memory import Operand, Output, f32, pack, padded, to_device, u32

# Threads of a SIMD-group, and of the threadgroups that the host uses.
LANES = 32
INNER_GROUP = 256
NDIM_MAX = 16


@dataclass(frozen=True)
class Reduction:
    """One operation: prefix of the kernels' names, ATen's function over one dimension, domain, and tolerance for float32."""

    name: str
    reference: Callable[[torch.Tensor, int], torch.Tensor]
    domain: Domain = PLAIN
    tolerance: Tolerance = EXACT
    parameter: float = 0.0


SUMS = Tolerance(1e-6, 5e-4)

NORMS = ("norm_inf", "norm_neginf", "norm_l0", "norm_l1", "norm_l2", "norm_l2_combine")

OPERATIONS = [
    Reduction("all", lambda x, dim: x.bool().all(dim), Domain(0, 9, False)),
    Reduction("any", lambda x, dim: x.bool().any(dim), Domain(0, 1, False)),
    Reduction("count_nonzero", lambda x, dim: torch.count_nonzero(x, dim), Domain(-2, 2)),
    Reduction("max", lambda x, dim: x.amax(dim), ANY),
    Reduction("min", lambda x, dim: x.amin(dim), ANY),
    Reduction("nansum", lambda x, dim: x.nansum(dim), PLAIN, SUMS),
    Reduction("norm_inf", lambda x, dim: torch.linalg.vector_norm(x, math.inf, dim), tolerance=Tolerance(3e-7)),
    Reduction("norm_neginf", lambda x, dim: torch.linalg.vector_norm(x, -math.inf, dim), tolerance=Tolerance(3e-7)),
    Reduction("norm_l1", lambda x, dim: torch.linalg.vector_norm(x, 1, dim), tolerance=SUMS),
    Reduction("norm_l0", lambda x, dim: torch.linalg.vector_norm(x, 0, dim), Domain(-2, 2, False), SUMS),
    Reduction("norm_l2", lambda x, dim: torch.linalg.vector_norm(x, 2, dim), PLAIN, SUMS, parameter=1.0),
    # The second pass adds partial sums of squares.
    Reduction("norm_l2_combine", lambda x, dim: x.sum(dim).sqrt(), Domain(0, 9, False), SUMS, parameter=1.0),
    Reduction("prod", lambda x, dim: x.prod(dim), Domain(0.8, 1.2, False), Tolerance(2e-5, 1e-6)),
    Reduction("std", lambda x, dim: x.std(dim, correction=1), tolerance=Tolerance(1e-5, 1e-5), parameter=1.0),
    Reduction("sum", lambda x, dim: x.sum(dim), PLAIN, SUMS),
    Reduction("var", lambda x, dim: x.var(dim, correction=1), tolerance=Tolerance(1e-5, 1e-5), parameter=1.0),
]


def reference(operation: Reduction, x: torch.Tensor, dim: int, dtype: torch.dtype) -> torch.Tensor:
    """ATen's result in double or in integers that do not overflow, rounded or wrapped once."""
    if x.dtype.is_complex:
        wide = x.to(torch.complex64).to(torch.complex128)
    elif x.dtype.is_floating_point:
        wide = x.to(torch.float64)
    else:
        wide = x if x.dtype == torch.bool or operation.name in ("max", "min") else x.to(torch.int64)
    return operation.reference(wide, dim).to(dtype)


def norm_params(parameter: float, x: torch.Tensor, strides: tuple[int, ...], reduced: tuple[int, ...]) -> torch.Tensor:
    """`NormParams`: sizes outermost first, strides in elements, reduced dimensions of the output have size 1."""
    kept = [1 if dim in reduced else size for dim, size in enumerate(x.shape)]
    out_strides = torch.empty(kept).stride()
    arrays = [padded(values, NDIM_MAX) for values in (x.shape, strides, kept, out_strides)]
    count = math.prod(x.shape[dim] for dim in reduced)
    return pack(f"f2I{4 * NDIM_MAX}I", parameter, count, x.dim(), *(value for array in arrays for value in array))


def _inputs(operation: Reduction, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """Values of the operation's domain; factors that are complex have magnitude one, so that no product overflows."""
    x = draw(dtype, shape, operation.domain)
    return torch.polar(torch.ones(shape), 6.3 * torch.rand(shape)).to(dtype) if operation.name == "prod" and dtype.is_complex else x


def _generic(operation: Reduction, name: str, ti: torch.dtype, to: torch.dtype) -> Case:
    x = _inputs(operation, ti, (5, 30, 40))
    source, output = Operand(x), Output((5, 40), to)
    params = norm_params(operation.parameter, x, source.strides, (1,))
    want = reference(operation, x, 1, to)
    return _case(name, operation, source, output, [params], (200 * INNER_GROUP,), (INNER_GROUP,), want)


def _generic_two(operation: Reduction, name: str, ti: torch.dtype, to: torch.dtype) -> Case:
    x = _inputs(operation, ti, (7, 6, 50))
    source, output = Operand(x), Output((6,), to)
    params = norm_params(operation.parameter, x, source.strides, (0, 2))
    want = reference(operation, x.permute(1, 0, 2).reshape(6, 350), 1, to)
    return _case(name, operation, source, output, [params], (6 * INNER_GROUP,), (INNER_GROUP,), want)


def _innermost(operation: Reduction, name: str, ti: torch.dtype, to: torch.dtype) -> Case:
    x = _inputs(operation, ti, (13, 307))
    groups = math.ceil(13 / (INNER_GROUP // LANES))
    arguments = [u32(13, 307), f32(operation.parameter)]
    return _case(name, operation, Operand(x), Output((13,), to), arguments, (groups * INNER_GROUP,), (INNER_GROUP,), reference(operation, x, 1, to))


def _chunk(operation: Reduction, name: str, ti: torch.dtype, to: torch.dtype) -> Case:
    rows, length, lanes = 37, 60, 4
    x = _inputs(operation, ti, (rows, length))
    per_group = INNER_GROUP // lanes
    arguments = [u32(rows, length, lanes, 1), f32(operation.parameter)]
    threads = (math.ceil(rows / per_group) * INNER_GROUP,)
    return _case(name, operation, Operand(x), Output((rows,), to), arguments, threads, (INNER_GROUP,), reference(operation, x, 1, to))


def _outer(height: int) -> Callable[[Reduction, str, torch.dtype, torch.dtype], Case]:
    def build(operation: Reduction, name: str, ti: torch.dtype, to: torch.dtype) -> Case:
        x = _inputs(operation, ti, (3, 70, 45))
        arguments = [u32(70, 45, 1, 0), f32(operation.parameter), u32(45, 1, 70 * 45, 0)]
        threads = (math.ceil(45 / LANES) * LANES, height, 3)
        return _case(name, operation, Operand(x), Output((3, 45), to), arguments, threads, (LANES, height, 1), reference(operation, x, 1, to))

    return build


def _narrow(operation: Reduction, name: str, ti: torch.dtype, to: torch.dtype) -> Case:
    x = _inputs(operation, ti, (3, 211, 5))
    arguments = [u32(211, 5, 1, 0), f32(operation.parameter)]
    return _case(name, operation, Operand(x), Output((3, 5), to), arguments, (256, 1, 3), (256, 1, 1), reference(operation, x, 1, to))


def _flat(operation: Reduction, name: str, ti: torch.dtype, to: torch.dtype) -> Case:
    x = _inputs(operation, ti, (3, 1501))
    source, output = Operand(x), Output((3,), to)
    want = reference(operation, x, 1, to)
    if operation.parameter:
        # The pass over a whole tensor finishes nothing: no correction, no root.
        plain = {
            "std": lambda x: x.std(1, correction=0),
            "var": lambda x: x.var(1, correction=0),
            "norm_l2": lambda x: x.square().sum(1),
            "norm_l2_combine": lambda x: x.sum(1),
        }
        want = plain[operation.name](x.to(torch.float64)).to(to)
    return _case(name, operation, source, output, [u32(x.numel(), 1501)], (3 * INNER_GROUP,), (INNER_GROUP,), want)


def _case(name, operation, source, output, arguments, threads, group, want) -> Case:
    tolerance = EXACT if operation.tolerance == EXACT else rounded(operation.tolerance, output.dtype)
    return Case([Launch(name, [source.device, output.device, *arguments], threads, group)], [Check(output, want, tolerance)])


VARIANTS = {
    "": [_generic, _generic_two],
    "_flat": [_flat],
    "_innermost": [_innermost],
    "_innermost_chunk": [_chunk],
    "_narrow": [_narrow],
    "_outer": [_outer(32)],
    "_outer_small_dim": [_outer(1)],
}


def _family(operation: Reduction) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        found = [
            (ti, to)
            for ti in METAL
            for to in METAL
            if library.has(f"{operation.name}_reduction_{ti}_{to}")
            and not (operation.name in NORMS and ti in ("float2", "half2"))
        ]
        for index, (ti, to) in enumerate(found):
            present = [suffix for suffix in VARIANTS if library.has(f"{operation.name}_reduction{suffix}_{ti}_{to}")]
            for suffix in chosen(present, library.is_thorough, index == 0):
                for build in VARIANTS[suffix]:
                    yield build(operation, f"{operation.name}_reduction{suffix}_{ti}_{to}", METAL[ti], METAL[to])

    return Family(f"{operation.name} reduction", "reductions", cases)


def _index_cases(name: str, reference_index, kind: str) -> Iterator[Case]:
    dtype = METAL[kind]
    rows = draw(dtype, (11, 333), Domain(-40, 40))
    unused = to_device(torch.zeros(64, dtype=torch.int32))
    output = Output((11,), torch.int64)
    arguments = [u32(11, 333, 0, 0), unused, unused, unused]
    launch = Launch(f"{name}_reduction_innermost_{kind}_long", [to_device(rows), output.device, *arguments], (2 * 256,), (256,))
    yield Case([launch], [Check(output, reference_index(rows, 1))])

    block = draw(dtype, (3, 70, 45), Domain(-40, 40))
    output = Output((3, 45), torch.int64)
    arguments = [u32(70, 45, 1, 0), u32(45, 1, 70 * 45, 0), unused, unused]
    launch = Launch(f"{name}_reduction_outer_{kind}_long", [to_device(block), output.device, *arguments], (64, 32, 3), (32, 32, 1))
    yield Case([launch], [Check(output, reference_index(block, 1))])

    output = Output((3, 45), torch.int64)
    params = norm_params(0.0, block, block.stride(), (1,))
    launch = Launch(f"{name}_reduction_{kind}_long", [to_device(block), output.device, params], (135 * 256,), (256,))
    yield Case([launch], [Check(output, reference_index(block, 1))])
    yield from _two_pass(name, reference_index, kind, unused)


def _two_pass(name: str, reference_index, kind: str, unused: torch.Tensor) -> Iterator[Case]:
    dtype, segments = METAL[kind], 5
    rows = draw(dtype, (7, 1003), Domain(-40, 40))
    length = math.ceil(1003 / segments)
    values, indices = Output((7 * segments,), dtype), Output((7 * segments,), torch.int32)
    output = Output((7,), torch.int64)
    first = [to_device(rows), unused, u32(7 * segments, length, segments, 1003), unused, values.device, indices.device]
    second = [values.device, output.device, u32(7, segments, 0, 0), indices.device, unused, unused]
    yield Case(
        [
            Launch(f"{name}_reduction_innermost_p1_{kind}", first, (5 * 256,), (256,)),
            Launch(f"{name}_reduction_combine_{kind}", second, (256,), (256,)),
        ],
        [Check(output, reference_index(rows, 1))],
    )
    for variant, inner, height in [("outer", 45, 32), ("narrow", 6, 1)]:
        block = draw(dtype, (501, inner), Domain(-40, 40))
        values, indices = Output((inner * segments,), dtype), Output((inner * segments,), torch.int32)
        output = Output((inner,), torch.int64)
        sizes = u32(501, inner, segments, 0)
        if variant == "outer":
            first = [to_device(block), unused, sizes, u32(inner, 1, 0, 0), values.device, indices.device]
            threads, group = (64, segments * height, 1), (32, height, 1)
        else:
            first = [to_device(block), values.device, indices.device, sizes]
            threads, group = (256 // inner * inner, segments, 1), (256 // inner * inner, 1, 1)
        second = [values.device, output.device, u32(inner, segments, 0, 0), indices.device, unused, unused]
        yield Case(
            [
                Launch(f"{name}_reduction_{variant}_p1_{kind}", first, threads, group),
                Launch(f"{name}_reduction_combine_{kind}", second, (math.ceil(inner / 8) * 256,), (256,)),
            ],
            [Check(output, reference_index(block, 0))],
        )


def _index_family(name: str, reference_index) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for kind in METAL:
            if library.has(f"{name}_reduction_innermost_{kind}_long"):
                yield from _index_cases(name, reference_index, kind)

    return Family(f"{name} reduction", "reductions", cases)


FAMILIES = [_family(operation) for operation in OPERATIONS]
FAMILIES += [_index_family("argmax", torch.argmax), _index_family("argmin", torch.argmin)]
