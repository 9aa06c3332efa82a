"""Elementwise kernels with one operand and a parameter, and those with three operands."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL, SCALAR_TYPE, wide
from conformance.families.binary import Parameter, _one, structure
from conformance.families.unary import BLOCK, DENSE, LOOSE, PER_THREAD, SPECIAL, chosen
from conformance.inputs import ANY, PLAIN, STRICTLY_POSITIVE, Domain, draw
from conformance.memory import Operand, Output, i64, u32


@dataclass(frozen=True)
class WithParameter:
    """One operation: name, ATen's function of operand and parameter, parameter, domain, tolerance for float32."""

    name: str
    reference: Callable[..., torch.Tensor]
    parameter: Parameter
    domain: Domain = ANY
    tolerance: Tolerance = EXACT


def _pow(x: torch.Tensor, exponent: float) -> torch.Tensor:
    return torch.pow(x, exponent)


OPERATIONS = [
    WithParameter("clamp_max_scalar", lambda x, m: torch.clamp_max(x, m), Parameter((1,), _one)),
    WithParameter("clamp_min_scalar", lambda x, m: torch.clamp_min(x, m), Parameter((1,), _one)),
    WithParameter("clamp_scalar", torch.clamp, Parameter((0, 1), structure("TT"))),
    WithParameter("elu", torch.ops.aten.elu, Parameter((1.5, 1.25, 0.75), structure("TTT")), PLAIN, LOOSE),
    WithParameter("hardshrink", functional.hardshrink, Parameter((0.5,), _one)),
    WithParameter("leaky_relu", functional.leaky_relu, Parameter((0.25,), _one), PLAIN, Tolerance(1e-7)),
    WithParameter("nan_to_num", torch.nan_to_num, Parameter((2.5, 3.5, -4.5), structure("fff"))),
    WithParameter("polygamma", lambda x, n: torch.polygamma(n, x), Parameter((2,), _one), STRICTLY_POSITIVE, SPECIAL),
    WithParameter("pow_scalar", _pow, Parameter((3,), _one), Domain(-3, 3, False), Tolerance(2e-6, 1e-6)),
    WithParameter("round_decimals", lambda x, n: torch.round(x, decimals=n), Parameter((1,), _one), PLAIN, Tolerance(3e-7)),
    WithParameter("softplus", functional.softplus, Parameter((1.5, 2.0), structure("ff")), PLAIN, LOOSE),
    WithParameter("softshrink", functional.softshrink, Parameter((0.5,), _one), PLAIN, Tolerance(1e-7)),
]

VARIANTS = ["dense", "dense_ilp", "strided", "inner_contiguous"]


def ends(library: Library, prefix: str) -> list[list[str]]:
    """What follows `prefix` in the names of kernels, as result, operand and the rest."""
    found = []
    for name in sorted(library.names):
        parts = name.removeprefix(prefix).split("_", 2) if name.startswith(prefix) else []
        if len(parts) >= 2 and parts[0] in METAL and parts[1] in METAL:
            found.append(parts)
    return found


def _case(operation: WithParameter, variant: str, result: str, operand: str, kind: str) -> Case:
    x = draw(METAL[operand], DENSE if "dense" in variant else BLOCK, operation.domain)
    layout = "dense" if "dense" in variant else "inner" if "inner" in variant else "strided"
    source, output = Operand(x, layout), Output(x.shape, METAL[result], layout)
    sizes, count = [*reversed(x.shape)], x.numel()
    parameter = operation.parameter.encode(kind, operation.parameter.values)
    whole = [i64(*sizes), i64(*source.byte_strides()), i64(*output.byte_strides()), u32(len(sizes))]
    outer = [i64(*sizes[1:]), i64(*source.byte_strides()[1:]), i64(*output.byte_strides()[1:])]
    arguments, threads = {
        "dense": ([parameter], (count,)),
        "dense_ilp": ([parameter, u32(count)], (math.ceil(count / PER_THREAD),)),
        "strided": ([*whole, parameter], (sizes[0], count // sizes[0])),
        "inner_contiguous": (
            [*outer, u32(len(sizes) - 1, sizes[0]), parameter],
            (math.ceil(sizes[0] / PER_THREAD), count // sizes[0]),
        ),
    }[variant]
    compute = wide(x.dtype)
    if METAL[result].is_floating_point and not x.dtype.is_floating_point:
        compute = torch.float64
    values = [bool(value) for value in operation.parameter.values] if x.dtype == torch.bool and compute == torch.bool else operation.parameter.values
    if compute == torch.bool:
        want = operation.reference(x.to(torch.uint8), *[int(value) for value in values]).to(METAL[result])
    else:
        want = operation.reference(x.to(compute), *values).to(METAL[result])
    tolerance = EXACT if operation.tolerance == EXACT else rounded(operation.tolerance, METAL[result])
    name = f"{operation.name}_{variant}_{result}_{operand}_{kind}"
    return Case([Launch(name, [output.device, source.device, *arguments], threads)], [Check(output, want, tolerance)])


def _family(operation: WithParameter) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        found = [end for end in ends(library, f"{operation.name}_dense_") if len(end) == 3]
        for index, (result, operand, kind) in enumerate(found):
            for variant in chosen(VARIANTS, library.is_thorough, index == 0):
                yield _case(operation, variant, result, operand, kind)

    return Family(operation.name, "parameter", cases)


@dataclass(frozen=True)
class Ternary:
    """One operation of three operands: name, ATen's function, parameter if any, tolerance for float32."""

    name: str
    reference: Callable[..., torch.Tensor]
    parameter: Parameter | None = None
    tolerance: Tolerance = Tolerance(5e-7, 2e-6)
    third: Domain = PLAIN


TERNARY = [
    Ternary("addcmul", lambda x, a, b, value: torch.addcmul(x, a, b, value=value), Parameter((2,), _one)),
    Ternary("addcdiv", lambda x, a, b, value: torch.addcdiv(x, a, b, value=value), Parameter((2,), _one), third=Domain(1, 9, False)),
    Ternary("clamp", lambda x, low, high: torch.minimum(torch.maximum(x, low), high), tolerance=EXACT),
    Ternary("lerp", lambda a, b, weight: a + weight * (b - a), tolerance=Tolerance(5e-7, 4e-5)),
    Ternary("where", torch.where, tolerance=EXACT),
]

TERNARY_VARIANTS = ["dense", "strided", "dense_cast", "strided_cast"]


def _ternary_case(operation: Ternary, variant: str, first: str, dtype: torch.dtype, end: str, kind: str | None) -> Case:
    is_cast = variant.endswith("cast")
    shape = DENSE if "dense" in variant else BLOCK
    layout = "dense" if "dense" in variant else "strided"
    own = torch.int8 if is_cast and dtype not in (torch.bool, torch.uint8) else dtype
    values = [draw(METAL[first] if not is_cast else own, shape, PLAIN), draw(own, shape, PLAIN), draw(dtype, shape, operation.third)]
    operands, output = [Operand(each, layout) for each in values], Output(shape, dtype, layout)
    memories = [*operands, output]
    parameter = [operation.parameter.encode(kind, operation.parameter.values)] if operation.parameter and kind else []
    types = u32(*(SCALAR_TYPE.get(memory.dtype, 0) for memory in memories))
    sizes = [*reversed(shape)]
    if layout == "dense":
        arguments = [u32(*(memory.dtype.itemsize for memory in memories)), types] if is_cast else []
        threads: tuple[int, ...] = (values[0].numel(),)
    else:
        strides = [i64(*memory.byte_strides()) for memory in [output, *operands]]
        arguments = [i64(*sizes), *strides, u32(len(sizes)), *([types] if is_cast else [])]
        threads = (sizes[0], sizes[1], math.prod(sizes[2:]))
    compute = dtype if dtype in (torch.uint16, torch.uint32, torch.uint64, torch.bool) else wide(dtype)
    wides = [each if operation.name == "where" and index == 0 else each.to(compute) for index, each in enumerate(values)]
    if compute == torch.bool and operation.name == "clamp":
        wides = [each.to(torch.uint8) for each in wides]
    want = operation.reference(*wides, *(operation.parameter.values if operation.parameter else ())).to(dtype)
    tolerance = EXACT if operation.tolerance == EXACT else rounded(operation.tolerance, dtype)
    devices = [output.device, *(operand.device for operand in operands)]
    name = f"{operation.name}_{variant}_{end}"
    return Case([Launch(name, [*devices, *parameter, *arguments], threads)], [Check(output, want, tolerance)])


def _ternary_family(operation: Ternary) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        for index, end in enumerate(ends(library, f"{operation.name}_dense_")):
            result, operand, kind = end[0], end[1], end[2] if len(end) > 2 else None
            plain = "_".join(end)
            cast = "_".join(end[:1] + end[2:])
            for variant in chosen(TERNARY_VARIANTS, library.is_thorough, index == 0):
                if library.has(f"{operation.name}_{variant}_{cast if variant.endswith('cast') else plain}"):
                    used = cast if variant.endswith("cast") else plain
                    yield _ternary_case(operation, variant, operand, METAL[result], used, kind)

    return Family(operation.name, "ternary", cases)


FAMILIES = [_family(operation) for operation in OPERATIONS] + [_ternary_family(operation) for operation in TERNARY]
