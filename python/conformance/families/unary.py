"""Elementwise kernels with one operand: every layout, every dtype that the library has, and stores with a cast."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import special
from torch.nn import functional

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL, SCALAR_TYPE, wide
from conformance.inputs import ANY, POSITIVE, STRICTLY_POSITIVE, UNIT, Domain, draw
from conformance.memory import Operand, Output, i64, u32

DENSE = (1003,)
BLOCK = (5, 6, 29)
# Elements that one thread of a dense kernel handles.
PER_THREAD = 4


@dataclass(frozen=True)
class Unary:
    """One operation: the kernel's name, ATen's function, where inputs lie, and the tolerance for float32."""

    name: str
    reference: Callable[[torch.Tensor], torch.Tensor]
    domain: Domain = ANY
    tolerance: Tolerance = EXACT
    without: tuple[str, ...] = ()
    """Operand types that the library has and that are not compared: most of them ATen on the CPU refuses."""
    roundings: int = 1
    """Times that a kernel for half or bfloat rounds to it on the way: some compute parts in the narrow type."""
    complex_tolerance: Tolerance | None = None
    """The tolerance for complex numbers of floats where it is another."""
    complex_roundings: int = 2
    """As ``roundings``, for complex numbers of halves, whose parts are computed from each other in halves."""
    complex_domain: Domain | None = None
    """Where the parts of complex numbers lie if it is elsewhere, as where halves would overflow."""


INTEGERS = ("bool", "uchar", "char", "short", "int", "long")
UNSIGNED = ("ushort", "uint", "ulong", "float8_e4m3fn")
LOOSE = Tolerance(2e-6, 1e-6)
SPECIAL = Tolerance(2e-5, 2e-6)
SMALL = Domain(-5.0, 5.0)
NEAR = Domain(-3.0, 3.0)


def _magnitude(x: torch.Tensor) -> torch.Tensor:
    """ATen's absolute value; for complex numbers the kernel writes it into both parts."""
    return torch.complex(x.abs(), x.abs()) if x.is_complex() else x.abs()


OPERATIONS = [
    Unary("abs", _magnitude, tolerance=Tolerance(3e-7)),
    # Both subtract the square of a complex number from one in its own type, and take roots: half of the digits are lost
    # near ±1, in halves almost all, and what is under acos's root may be negative.
    Unary("acos", torch.acos, UNIT, LOOSE, ("half2",), complex_tolerance=Tolerance(2e-6, 4e-4)),
    Unary("angle", torch.angle, tolerance=LOOSE),
    Unary("asin", torch.asin, UNIT, LOOSE, ("half2",), complex_tolerance=Tolerance(2e-6, 4e-4)),
    Unary("atan", torch.atan, tolerance=LOOSE),
    Unary("bessel_j0_forward", special.bessel_j0, Domain(-8, 8, False), SPECIAL, roundings=5),
    Unary("bessel_j1_forward", special.bessel_j1, Domain(-8, 8, False), SPECIAL, roundings=5),
    Unary("bessel_y0_forward", special.bessel_y0, Domain(0.1, 8, False), SPECIAL, roundings=5),
    Unary("bessel_y1_forward", special.bessel_y1, Domain(0.1, 8, False), SPECIAL, roundings=5),
    Unary("bitwise_not", torch.bitwise_not),
    Unary("ceil", torch.ceil),
    Unary("copy_conj", lambda x: torch.conj(x).resolve_conj()),
    Unary("copy_conj_neg", lambda x: -torch.conj(x).resolve_conj(), without=("bool", *UNSIGNED)),
    Unary("copy_identity", lambda x: x),
    Unary("copy_neg", torch.neg, without=("bool", *UNSIGNED)),
    Unary("cos", torch.cos, Domain(-30, 30), LOOSE, complex_domain=NEAR),
    Unary("cosh", torch.cosh, SMALL, LOOSE),
    Unary("digamma", torch.digamma, STRICTLY_POSITIVE, SPECIAL),
    Unary("entr", special.entr, POSITIVE, LOOSE),
    Unary("erf", torch.erf, tolerance=LOOSE),
    Unary("erfc", torch.erfc, tolerance=Tolerance(1e-5, 1e-6)),
    Unary("erfcx", special.erfcx, SMALL, SPECIAL, roundings=2),
    Unary("erfinv", torch.erfinv, UNIT, SPECIAL),
    Unary("exp", torch.exp, tolerance=LOOSE),
    Unary("exp2", torch.exp2, tolerance=LOOSE),
    Unary("expm1", torch.expm1, tolerance=LOOSE),
    Unary("floor", torch.floor),
    Unary("gelu", functional.gelu, Domain(-8, 8, False), LOOSE),
    Unary("gelu_tanh", lambda x: functional.gelu(x, approximate="tanh"), Domain(-8, 8, False), LOOSE),
    Unary("hardsigmoid", functional.hardsigmoid, tolerance=LOOSE),
    Unary("hardswish", functional.hardswish, Domain(-8, 8, False), LOOSE),
    Unary("i0", special.i0, SMALL, SPECIAL),
    Unary("i0e", special.i0e, SMALL, SPECIAL),
    Unary("i1", special.i1, SMALL, SPECIAL, roundings=2),
    Unary("i1e", special.i1e, SMALL, SPECIAL),
    Unary("isneginf", torch.isneginf),
    Unary("isposinf", torch.isposinf),
    Unary("lgamma", torch.lgamma, STRICTLY_POSITIVE, SPECIAL),
    Unary("log", torch.log, POSITIVE, LOOSE),
    Unary("log10", torch.log10, POSITIVE, LOOSE),
    Unary("log1p", torch.log1p, POSITIVE, LOOSE),
    Unary("log2", torch.log2, POSITIVE, LOOSE),
    Unary("log_sigmoid_forward", functional.logsigmoid, tolerance=LOOSE),
    Unary("logical_not", torch.logical_not),
    Unary("mish", functional.mish, Domain(-8, 8, False), LOOSE),
    Unary("modified_bessel_i0_forward", special.modified_bessel_i0, SMALL, SPECIAL),
    Unary("modified_bessel_i1_forward", special.modified_bessel_i1, SMALL, SPECIAL),
    Unary("modified_bessel_k0_forward", special.modified_bessel_k0, Domain(0.1, 20, False), SPECIAL, roundings=2),
    Unary("modified_bessel_k1_forward", special.modified_bessel_k1, Domain(0.1, 20, False), SPECIAL, roundings=2),
    Unary("neg", torch.neg),
    Unary("reciprocal", torch.reciprocal, tolerance=Tolerance(5e-7)),
    Unary("round", torch.round),
    # As with acos, half of the digits of a complex root's smaller part are lost.
    Unary("rsqrt", torch.rsqrt, POSITIVE, LOOSE, ("half2",), complex_tolerance=Tolerance(2e-6, 1e-3)),
    Unary("scaled_modified_bessel_k0_forward", special.scaled_modified_bessel_k0, Domain(0.1, 20, False), SPECIAL, roundings=2),
    Unary("scaled_modified_bessel_k1_forward", special.scaled_modified_bessel_k1, Domain(0.1, 20, False), SPECIAL, roundings=2),
    Unary("sigmoid", torch.sigmoid, tolerance=LOOSE),
    Unary("silu", functional.silu, Domain(-8, 8, False), LOOSE, INTEGERS),
    Unary("sin", torch.sin, Domain(-30, 30), LOOSE, complex_domain=NEAR),
    Unary("sinc", torch.sinc, Domain(-8, 8, False), LOOSE, complex_roundings=4, complex_domain=UNIT),
    Unary("sinh", torch.sinh, SMALL, LOOSE),
    Unary("spherical_bessel_j0", special.spherical_bessel_j0, Domain(-30, 30, False), SPECIAL),
    Unary("sqr", torch.square, complex_tolerance=Tolerance(5e-7)),
    Unary("sqrt", torch.sqrt, POSITIVE, Tolerance(2.5e-7), ("half2",), complex_tolerance=Tolerance(2e-6, 1e-3)),
    Unary("tan", torch.tan, Domain(-1.4, 1.4), LOOSE),
    Unary("tanh", torch.tanh, tolerance=LOOSE),
    Unary("trigamma", lambda x: torch.polygamma(1, x), STRICTLY_POSITIVE, SPECIAL),
    Unary("trunc", torch.trunc),
]


def expected(operation: Unary, x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """ATen's result on the CPU, computed wide where a wide form exists and rounded once."""
    compute = wide(x.dtype)
    if not x.dtype.is_floating_point and not x.dtype.is_complex and dtype.is_floating_point:
        compute = torch.float64
    if x.dtype in (torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn):
        compute = x.dtype
    result = operation.reference(x.to(compute))
    return result if result.dtype == dtype else result.to(dtype)


def pairs(library: Library, prefix: str) -> list[tuple[str, str]]:
    """Metal names of result and operand of the kernels ``prefix_<result>_<operand>``."""
    return [
        (result, operand)
        for result in METAL
        for operand in METAL
        if library.has(f"{prefix}_{result}_{operand}")
    ]


def chosen(variants: list, is_thorough: bool, is_first: bool, count: int = 2) -> list:
    """All variants for the first dtype or a thorough run, else a few drawn ones."""
    return variants if is_thorough or is_first else random.sample(variants, min(count, len(variants)))


def _castout_dtype(dtype: torch.dtype) -> torch.dtype:
    """Another dtype that every result converts to exactly as ATen does."""
    return torch.complex64 if dtype.is_complex else torch.float32 if dtype != torch.float32 else torch.float16


def _launch(operation: Unary, variant: str, result: str, operand: str) -> Case:
    domain = operation.complex_domain if METAL[operand].is_complex and operation.complex_domain else operation.domain
    x = draw(METAL[operand], BLOCK if "dense" not in variant else DENSE, domain)
    layout = "dense" if "dense" in variant else "inner" if "inner" in variant else "strided"
    natural = METAL[result]
    out_dtype = _castout_dtype(natural) if "castout" in variant else natural
    source, output = Operand(x, layout), Output(x.shape, out_dtype, layout)
    sizes = [*reversed(x.shape)]
    code, elements = SCALAR_TYPE.get(out_dtype, 0), x.numel()
    blocks = math.ceil(elements / PER_THREAD)
    inner_threads = (math.ceil(sizes[0] / PER_THREAD), elements // sizes[0])
    outer = [i64(*sizes[1:]), i64(*source.byte_strides()[1:]), i64(*output.byte_strides()[1:])]
    whole = [i64(*sizes), i64(*source.byte_strides()), i64(*output.byte_strides())]
    arguments, threads = {
        "dense_scalar": ([], (elements,)),
        "dense": ([u32(elements)], (blocks,)),
        "strided": ([*whole, u32(len(sizes))], (sizes[0], elements // sizes[0])),
        "inner_contiguous": ([*outer, u32(len(sizes) - 1, sizes[0])], inner_threads),
        "dense_castout": ([u32(out_dtype.itemsize, code)], (elements,)),
        "dense_castout_ilp": ([u32(out_dtype.itemsize, code, elements, 0)], (blocks,)),
        "strided_castout": ([*whole, u32(len(sizes), code)], (sizes[0], elements // sizes[0])),
        "inner_contiguous_castout": ([*outer, u32(len(sizes) - 1, sizes[0], out_dtype.itemsize, code)], inner_threads),
    }[variant]
    name = f"{operation.name}_{variant}_{operand}" if "castout" in variant else f"{operation.name}_{variant}_{result}_{operand}"
    want = expected(operation, x, natural).to(out_dtype)
    stated = operation.complex_tolerance if natural.is_complex and operation.complex_tolerance else operation.tolerance
    roundings = operation.complex_roundings if natural.is_complex else operation.roundings
    tolerance = rounded(stated, natural, roundings) if stated != EXACT else EXACT
    if "castout" in variant and stated != EXACT:
        tolerance = rounded(tolerance, out_dtype)
    return Case([Launch(name, [output.device, source.device, *arguments], threads)], [Check(output, want, tolerance)])


VARIANTS = ["dense_scalar", "dense", "strided", "inner_contiguous", "dense_castout", "dense_castout_ilp"]
VARIANTS += ["strided_castout", "inner_contiguous_castout"]


def _family(operation: Unary) -> Family:
    def cases(library: Library) -> Iterator[Case]:
        found = pairs(library, f"{operation.name}_dense_scalar")
        found = [pair for pair in found if pair[1] not in operation.without]
        for index, (result, operand) in enumerate(found):
            castable = METAL[result] in SCALAR_TYPE
            variants = [name for name in VARIANTS if castable or "castout" not in name]
            for variant in chosen(variants, library.is_thorough, index == 0):
                yield _launch(operation, variant, result, operand)

    return Family(operation.name, "unary", cases)


FAMILIES = [_family(operation) for operation in OPERATIONS]
