"""Elementwise kernels with two operands: dense, strided, broadcast, with a scalar on either side, with casts, with a parameter."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import special

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL, SCALAR_TYPE, STRUCT, wide
from conformance.families.unary import BLOCK, DENSE, LOOSE, PER_THREAD, SPECIAL, chosen, pairs
from conformance.inputs import ANY, PLAIN, UNIT, Domain, draw
from conformance.memory import Operand, Output, i64, pack, scalar, u32

aten = torch.ops.aten


@dataclass(frozen=True)
class Binary:
    """One operation: the kernel's name, ATen's function, where both operands lie, and the tolerance for float32."""

    name: str
    reference: Callable[..., torch.Tensor]
    left: Domain = PLAIN
    right: Domain = PLAIN
    tolerance: Tolerance = LOOSE
    parameter: "Parameter | None" = None
    roundings: int = 1
    """As :attr:`conformance.families.unary.Unary.roundings`."""


# The library has these for bool, ATen on the CPU does not.
WITHOUT_BOOL = {"sub", "div_floor", "div_trunc", "fmod", "remainder", "gcd", "lcm", "pow", "lerp_alpha"}


@dataclass(frozen=True)
class Parameter:
    """What a kernel takes beside its operands: values for the reference, and their bytes for each type in the name."""

    values: tuple
    encode: Callable[[str, tuple], torch.Tensor]


def _one(kind: str, values: tuple) -> torch.Tensor:
    """A single value of the Metal type that ends the kernel's name."""
    return scalar(values[0], METAL[kind])


def structure(layout: str) -> Callable[[str, tuple], torch.Tensor]:
    """A structure whose members have the type in the kernel's name (`T`), or the letter given."""

    def encode(kind: str, values: tuple) -> torch.Tensor:
        dtype = METAL.get(kind.rsplit("_", 1)[-1], torch.float32)
        if dtype == torch.bfloat16:
            words = [int(torch.tensor(value, dtype=dtype).view(torch.int16)) & 0xFFFF for value in values[: layout.count("T")]]
            return pack(layout.replace("T", "H"), *words, *values[len(words) :])
        return pack(layout.replace("T", STRUCT[dtype]), *values)

    return encode


SMOOTH = Domain(-3, 3, False)
NEAR = Domain(-1.3, 1.3, False)
COUNT = Domain(0, 6, False)
NONZERO = Domain(1, 9, False)
POSITIVE = Domain(0.1, 10, False)
WIDE = Domain(-60, 60, False)
UNIT_PLAIN = Domain(-1, 1, False)
HALF_OPEN = Domain(0, 1, False)
NAN_PROPAGATING = ANY
ROUNDED = Tolerance(1e-7)


def _log_sigmoid_backward(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    return aten.log_sigmoid_backward(grad, x, torch.exp(-x.abs()))


def _div_trunc(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The kernel rounds the quotient to the operands' type before it drops the fraction."""
    return torch.div(a, b).trunc() if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


def _log_add_exp(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Where the real parts of complex numbers are equal, the kernel takes the second for both."""
    result = torch.logaddexp(a, b)
    return torch.where(a.real == b.real, b + math.log(2), result) if result.is_complex() else result


def _polynomials() -> list[Binary]:
    plain = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w"]
    plain += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"]
    shifted = [f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"]
    tolerance = Tolerance(1e-5, 1e-5)
    return [Binary(name, getattr(special, name), UNIT_PLAIN, COUNT, tolerance) for name in plain] + [
        Binary(name, getattr(special, name), HALF_OPEN, COUNT, tolerance) for name in shifted
    ]


COMPARISONS = [
    Binary(name, function, Domain(-3, 3), Domain(-3, 3), EXACT)
    for name, function in {
        "eq": torch.eq,
        "ge": torch.ge,
        "gt": torch.gt,
        "le": torch.le,
        "lt": torch.lt,
        "ne": torch.ne,
        "logical_and": torch.logical_and,
        "logical_or": torch.logical_or,
        "logical_xor": torch.logical_xor,
    }.items()
]

ARITHMETIC = [
    Binary("add", torch.add, ANY, ANY, ROUNDED),
    Binary("sub", torch.sub, ANY, ANY, ROUNDED),
    Binary("mul", torch.mul, ANY, ANY, ROUNDED),
    Binary("atan2", torch.atan2),
    Binary("bitwise_and", torch.bitwise_and, WIDE, WIDE, EXACT),
    Binary("bitwise_or", torch.bitwise_or, WIDE, WIDE, EXACT),
    Binary("bitwise_xor", torch.bitwise_xor, WIDE, WIDE, EXACT),
    Binary("bitwise_left_shift", torch.bitwise_left_shift, WIDE, COUNT, EXACT),
    Binary("bitwise_right_shift", torch.bitwise_right_shift, WIDE, COUNT, EXACT),
    Binary("copysign", torch.copysign, tolerance=EXACT),
    Binary("div_true", torch.true_divide, PLAIN, NONZERO, Tolerance(3e-7)),
    Binary("div_floor", torch.floor_divide, PLAIN, NONZERO, EXACT),
    Binary("div_trunc", _div_trunc, PLAIN, NONZERO, EXACT),
    Binary("fmod", torch.fmod, PLAIN, NONZERO),
    Binary("remainder", torch.remainder, PLAIN, NONZERO),
    Binary("fmax", torch.fmax, NAN_PROPAGATING, NAN_PROPAGATING, EXACT),
    Binary("fmin", torch.fmin, NAN_PROPAGATING, NAN_PROPAGATING, EXACT),
    Binary("maximum", torch.maximum, NAN_PROPAGATING, NAN_PROPAGATING, EXACT),
    Binary("minimum", torch.minimum, NAN_PROPAGATING, NAN_PROPAGATING, EXACT),
    Binary("gcd", torch.gcd, WIDE, WIDE, EXACT),
    Binary("lcm", torch.lcm, Domain(-11, 11, False), Domain(-11, 11, False), EXACT),
    Binary("heaviside", torch.heaviside, Domain(-2, 2, False), PLAIN, EXACT),
    Binary("hypot", torch.hypot),
    Binary("igamma", torch.igamma, POSITIVE, POSITIVE, SPECIAL),
    Binary("igammac", torch.igammac, POSITIVE, POSITIVE, SPECIAL),
    # Complex sums cancel where imaginary parts are π apart.
    Binary("logaddexp", _log_add_exp, NEAR, NEAR, roundings=4),
    Binary("logaddexp2", torch.logaddexp2),
    Binary("make_complex", torch.complex, tolerance=EXACT),
    Binary("polar", torch.polar, POSITIVE, PLAIN),
    Binary("nextafter", torch.nextafter, tolerance=EXACT),
    Binary("pow", torch.pow, Domain(1, 4, False), Domain(0, 3, False), Tolerance(5e-6)),
    Binary("xlogy", torch.xlogy, PLAIN, POSITIVE),
    Binary("xlog1py", special.xlog1py, PLAIN, POSITIVE),
    Binary("zeta", special.zeta, Domain(1.2, 5, False), POSITIVE, SPECIAL),
]

BACKWARD = [
    Binary("gelu_backward", lambda grad, x: aten.gelu_backward(grad, x), SMOOTH, SMOOTH),
    Binary("gelu_tanh_backward", lambda grad, x: aten.gelu_backward(grad, x, approximate="tanh"), SMOOTH, SMOOTH),
    Binary("glu", lambda a, b: a * torch.sigmoid(b), SMOOTH, SMOOTH),
    Binary("hardsigmoid_backward", aten.hardsigmoid_backward, SMOOTH, Domain(-5, 5, False)),
    Binary("hardswish_backward", aten.hardswish_backward, SMOOTH, Domain(-5, 5, False)),
    Binary("log_sigmoid_backward", _log_sigmoid_backward, SMOOTH, SMOOTH),
    Binary("mish_backward", aten.mish_backward, SMOOTH, SMOOTH),
    Binary("sigmoid_backward", aten.sigmoid_backward, SMOOTH, UNIT_PLAIN, roundings=4),
    Binary("silu_backward", aten.silu_backward, SMOOTH, SMOOTH),
    Binary("tanh_backward", aten.tanh_backward, SMOOTH, UNIT_PLAIN, roundings=4),
]

WITH_PARAMETER = [
    Binary("add_alpha", lambda a, b, alpha: torch.add(a, b, alpha=alpha), parameter=Parameter((3,), _one), tolerance=Tolerance(2e-7, 4e-6), roundings=16),
    Binary("lerp_alpha", lambda a, b, weight: a + weight * (b - a), parameter=Parameter((2,), _one), tolerance=Tolerance(2e-7, 8e-6), roundings=16),
    Binary("leaky_relu_backward", lambda x, grad, slope: aten.leaky_relu_backward(grad, x, slope, False), parameter=Parameter((0.25,), _one)),
    Binary("logit_backward", lambda grad, x, eps: aten.logit_backward(grad, x, eps), SMOOTH, Domain(0.05, 0.95, False), parameter=Parameter((0.125,), _one)),
    Binary("shrink_backward", lambda grad, x, lambd: aten.hardshrink_backward(grad, x, lambd), SMOOTH, SMOOTH, parameter=Parameter((0.5,), _one), tolerance=EXACT),
    Binary(
        "elu_backward",
        lambda grad, x, alpha, scale, input_scale, is_result: aten.elu_backward(grad, alpha, scale, input_scale, is_result, x),
        SMOOTH,
        SMOOTH,
        parameter=Parameter((1.5, 1.25, 0.75, False), structure("TTT?xxx")),
    ),
    Binary(
        "softplus_backward",
        lambda grad, x, beta, threshold: aten.softplus_backward(grad, x, beta, threshold),
        SMOOTH,
        SMOOTH,
        parameter=Parameter((1.5, 2.0), structure("ff")),
    ),
]

OPERATIONS = ARITHMETIC + COMPARISONS + _polynomials() + BACKWARD + WITH_PARAMETER

VARIANTS = ["dense", "dense_ilp4", "dense_scalar", "dense_scalar_lhs", "dense_broadcast", "dense_broadcast_rhs", "strided"]
VARIANTS += ["inner_contiguous", "dense_cast", "dense_scalar_cast", "dense_scalar_lhs_cast", "dense_broadcast_cast"]
VARIANTS += ["dense_broadcast_rhs_cast", "strided_cast", "strided_castout"]
BROADCAST = 17


def expected(operation: Binary, a: torch.Tensor, b: torch.Tensor, compute: torch.dtype, dtype: torch.dtype) -> torch.Tensor:
    """ATen's result in `compute`, rounded once to `dtype`."""
    parameters = operation.parameter.values if operation.parameter else ()
    result = operation.reference(a.to(compute), b.to(compute), *parameters)
    return result if result.dtype == dtype else result.to(dtype)


def _operands(operation: Binary, variant: str, operand: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    is_cast = "cast" in variant.replace("broadcast", "")
    left, right = (torch.int8, torch.uint8) if is_cast and operand != torch.bool else (operand, operand)
    if is_cast and operand in (torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        left = torch.uint8
    shape = DENSE if "dense" in variant else BLOCK
    small = (1,) if "scalar" in variant else (BROADCAST,) if "broadcast" in variant else shape
    is_left_small = "lhs" in variant or "rhs" in variant
    shapes = (small, shape) if is_left_small else (shape, small)
    return draw(left, shapes[0], operation.left), draw(right, shapes[1], operation.right)


def _spread(values: torch.Tensor, count: int) -> torch.Tensor:
    """A broadcast operand as long as the other: it repeats."""
    return values.repeat(math.ceil(count / values.numel()))[:count] if values.numel() < count else values


def _case(operation: Binary, variant: str, result: str, operand: str, kind: str | None) -> Case:
    a, b = _operands(operation, variant, METAL[operand])
    count, dtype = max(a.numel(), b.numel()), METAL[result]
    layout = "dense" if "dense" in variant else "inner" if "inner" in variant else "strided"
    out_dtype = torch.uint8 if variant.endswith("castout") else dtype
    shape = DENSE if layout == "dense" else BLOCK
    x, y, output = Operand(a, layout), Operand(b, layout), Output(shape, out_dtype, layout)
    sizes = [*reversed(shape)]
    types = [a.dtype.itemsize, b.dtype.itemsize, SCALAR_TYPE.get(a.dtype, 0), SCALAR_TYPE.get(b.dtype, 0)]
    parameter = [operation.parameter.encode(kind, operation.parameter.values)] if operation.parameter and kind else []
    strides = [memory.byte_strides() for memory in (output, x, y)]
    threads: tuple[int, ...] = (count,)
    if layout == "strided":
        last = [len(sizes), types[2], types[3], SCALAR_TYPE.get(out_dtype, 0)]
        arguments = [*parameter, i64(*sizes), *(i64(*each) for each in strides), u32(*last)]
    elif layout == "inner":
        arguments = [i64(*sizes[1:]), *(i64(*each[1:]) for each in strides), u32(len(sizes) - 1, sizes[0])]
        threads = (math.ceil(sizes[0] / PER_THREAD), count // sizes[0])
    elif variant == "dense_ilp4":
        arguments, threads = [u32(count)], (math.ceil(count / PER_THREAD),)
    else:
        arguments = [*([i64(BROADCAST)] if "broadcast" in variant else []), *parameter]
        arguments += [u32(*types)] if variant.endswith("_cast") else []
    compute = wide(METAL[operand])
    if dtype.is_floating_point and not METAL[operand].is_floating_point:
        compute = torch.float64
    if METAL[operand] in (torch.uint16, torch.uint32, torch.uint64):
        compute = torch.int64
    if METAL[operand] == torch.float8_e4m3fn:
        compute = torch.float32
    if METAL[operand] == torch.bool and operation.name in ("add", "mul", "maximum", "minimum"):
        compute = torch.bool
    # nextafter steps, and quotients round, in the operands' own format.
    compute = METAL[operand] if operation.name in ("nextafter", "div_trunc") else compute
    want = expected(operation, _spread(a, count), _spread(b, count), compute, dtype).to(out_dtype).reshape(shape)
    tolerance = EXACT if operation.tolerance == EXACT else rounded(operation.tolerance, dtype, operation.roundings)
    if dtype.is_complex:
        # Products and their sum round one by one.
        tolerance = Tolerance(tolerance.relative + 4e-7, tolerance.absolute + 2e-6)
    name = "_".join(filter(None, [operation.name, variant, result, operand, kind]))
    return Case([Launch(name, [output.device, x.device, y.device, *arguments], threads)], [Check(output, want, tolerance)])


def _kinds(library: Library, operation: Binary, result: str, operand: str) -> list[str | None]:
    """Types of the parameter that end the kernels' names."""
    if operation.parameter is None:
        return [None]
    prefix = f"{operation.name}_dense_{result}_{operand}_"
    return sorted(name.removeprefix(prefix) for name in library.names if name.startswith(prefix))


def _pairs(library: Library, operation: Binary) -> list[tuple[str, str]]:
    if operation.parameter is None:
        return pairs(library, f"{operation.name}_dense")
    return [
        (result, operand)
        for result in METAL
        for operand in METAL
        if any(name.startswith(f"{operation.name}_dense_{result}_{operand}_") for name in library.names)
    ]


def _family(operation: Binary) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        found_pairs = _pairs(library, operation)
        if operation.name in WITHOUT_BOOL:
            found_pairs = [pair for pair in found_pairs if pair[1] != "bool"]
        for index, (result, operand) in enumerate(found_pairs):
            for kind in _kinds(library, operation, result, operand):
                ends = "_".join(filter(None, [result, operand, kind]))
                found = [variant for variant in VARIANTS if library.has(f"{operation.name}_{variant}_{ends}")]
                if METAL[operand] not in SCALAR_TYPE:
                    found = [variant for variant in found if "cast" not in variant.replace("broadcast", "")]
                for variant in chosen(found, library.is_thorough, index == 0, 3):
                    yield _case(operation, variant, result, operand, kind)

    return Family(operation.name, "binary", cases)


FAMILIES = [_family(operation) for operation in OPERATIONS]
