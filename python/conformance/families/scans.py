"""Cumulative sums, products, minima, maxima and log-sum-exps: in one pass, in blocks, and with decoupled look-back."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.inputs import Domain, draw
from conformance.memory import Output, i64, to_device, u32

LANES = 32
# Columns of a tile of the scans over an outer dimension.
COLUMNS = 32


@dataclass(frozen=True)
class Scan:
    """One operation: prefix of the names, ATen's function over a dimension, domain, tolerance for float32."""

    name: str
    reference: Callable[[torch.Tensor, int], torch.Tensor]
    domain: Domain
    tolerance: Tolerance


SCANS = {
    "cumsum": Scan("cumsum", torch.cumsum, Domain(-2, 2, False), Tolerance(2e-6, 2e-4)),
    "cumprod": Scan("cumprod", torch.cumprod, Domain(0.9, 1.1, False), Tolerance(1e-4, 1e-5)),
    "logcumsumexp": Scan("logcumsumexp", torch.logcumsumexp, Domain(-3, 3, False), Tolerance(1e-5, 1e-5)),
}


def _reads(dtype: torch.dtype) -> int:
    """Elements that one thread reads at a time: the host's choice by the size of the accumulator."""
    return 2 if dtype in (torch.int64, torch.complex64) else 4


def _accumulator(dtype: torch.dtype) -> torch.dtype:
    return torch.float32 if dtype.is_floating_point else dtype


def _draw(scan: Scan, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """Values of the scan's domain; complex factors lie near the unit circle, so that long products stay finite."""
    if scan.name == "cumprod" and dtype.is_complex:
        return torch.polar(torch.empty(shape).uniform_(0.999, 1.001), torch.empty(shape).uniform_(-3, 3)).to(dtype)
    if scan.name == "logcumsumexp" and dtype.is_complex:
        # Small angles, so that the logarithm's branch is not in question.
        return torch.complex(torch.empty(shape).uniform_(-3, 3), torch.empty(shape).uniform_(-0.5, 0.5)).to(dtype)
    return draw(dtype, shape, scan.domain)


def _want(scan: Scan, x: torch.Tensor, dim: int) -> torch.Tensor:
    wide = torch.complex128 if x.dtype.is_complex else torch.float64 if x.dtype.is_floating_point else torch.int64
    return scan.reference(x.to(wide), dim).to(x.dtype)


def _tolerance(scan: Scan, dtype: torch.dtype) -> Tolerance:
    if dtype == torch.complex32:
        # Complex products are made in the narrow type: a rounding for each of thousands of factors.
        return rounded(scan.tolerance, dtype, 200)
    return rounded(scan.tolerance, dtype) if dtype.is_floating_point or dtype.is_complex else EXACT


def _kinds(library: Library, prefix: str) -> list[str]:
    return [kind for kind in METAL if library.has(f"{prefix}_{kind}")]


def _simple(scan: Scan, library: Library) -> Iterator[Case]:
    for kind in _kinds(library, f"{scan.name}_innermost"):
        dtype = METAL[kind]
        for length, group in [(100, LANES), (1111, 10 * LANES), (5003, 1024)]:
            x = _draw(scan, dtype, (5, length))
            output = Output(x.shape, dtype)
            launch = Launch(f"{scan.name}_innermost_{kind}", [to_device(x), output.device, i64(length)], (group, 5, 1), (group, 1, 1))
            yield Case([launch], [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])
    for kind in _kinds(library, f"{scan.name}_outer"):
        dtype = METAL[kind]
        x = _draw(scan, dtype, (3, 77, 45))
        output, blocks = Output(x.shape, dtype), math.ceil(45 / COLUMNS)
        group = COLUMNS // _reads(dtype) * LANES
        arguments = [to_device(x), output.device, i64(77), i64(45), i64(blocks)]
        launch = Launch(f"{scan.name}_outer_{kind}", arguments, (group, 3 * blocks, 1), (group, 1, 1))
        yield Case([launch], [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])


def _transposed_and_tiny(scan: Scan, library: Library) -> Iterator[Case]:
    for kind in _kinds(library, f"{scan.name}_innermost_transposed"):
        dtype = METAL[kind]
        x = draw(dtype, (75, 70), scan.domain)
        output, blocks = Output((70, 75), dtype), math.ceil(70 / COLUMNS)
        group = COLUMNS // _reads(dtype) * LANES
        arguments = [to_device(x), output.device, i64(75), i64(70), i64(blocks)]
        launch = Launch(f"{scan.name}_innermost_transposed_{kind}", arguments, (group, blocks, 1), (group, 1, 1))
        yield Case([launch], [Check(output, _want(scan, x.T.contiguous(), 1), _tolerance(scan, dtype))])
    for kind in _kinds(library, f"{scan.name}_tiny_innermost"):
        dtype = METAL[kind]
        x = draw(dtype, (301, 13), scan.domain)
        output, rows = Output(x.shape, dtype), 2048 // 13
        arguments = [to_device(x), output.device, u32(13), u32(301), u32(rows)]
        groups = math.ceil(301 / rows)
        launch = Launch(f"{scan.name}_tiny_innermost_{kind}", arguments, (groups * 256, 1, 1), (256, 1, 1))
        yield Case([launch], [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])


def _blocks(scan: Scan, library: Library) -> Iterator[Case]:
    for kind in _kinds(library, f"{scan.name}_block_reduce"):
        dtype = METAL[kind]
        length, count = 5000, 3
        block = math.ceil(length / count)
        x = draw(dtype, (2, length), scan.domain)
        output, sums = Output(x.shape, dtype), Output((2, count), _accumulator(dtype))
        sizes = [i64(length), i64(block), i64(count)]
        threads, group = (256 * count, 2, 1), (256, 1, 1)
        launches = [
            Launch(f"{scan.name}_block_reduce_{kind}", [to_device(x), sums.device, *sizes], threads, group),
            Launch(f"{scan.name}_block_carry_{kind}", [to_device(x), output.device, sums.device, *sizes], threads, group),
        ]
        yield Case(launches, [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])


def _strided_blocks(scan: Scan, library: Library) -> Iterator[Case]:
    for kind in _kinds(library, f"{scan.name}_strided_block_reduce_16"):
        dtype, width = METAL[kind], 16
        length, inner, outer, block = 300, 21, 2, 96
        count, stride_blocks = math.ceil(length / block), math.ceil(inner / width)
        x = draw(dtype, (outer, length, inner), scan.domain)
        output, sums = Output(x.shape, dtype), Output((outer * inner, count), _accumulator(dtype))
        sizes = [i64(length), i64(inner), i64(stride_blocks), i64(block), i64(count), i64(outer)]
        group = width // _reads(dtype) * LANES
        threads = (group, outer * stride_blocks * count, 1)
        launches = [
            Launch(f"{scan.name}_strided_block_reduce_{width}_{kind}", [to_device(x), sums.device, *sizes], threads, (group, 1, 1)),
            Launch(f"{scan.name}_scan_block_sums_{kind}", [sums.device, i64(count)], (256, outer * inner, 1), (256, 1, 1)),
            Launch(f"{scan.name}_strided_block_carry_{width}_{kind}", [to_device(x), output.device, sums.device, *sizes], threads, (group, 1, 1)),
        ]
        yield Case(launches, [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])


def _vector_blocks(scan: Scan, library: Library) -> Iterator[Case]:
    for width in (2, 3, 4, 8):
        for kind in _kinds(library, f"{scan.name}_vec_block_reduce_{width}"):
            dtype = METAL[kind]
            tile = 64 * _reads(dtype)
            length, outer, block = 2 * tile + 100, 2, tile
            count = math.ceil(length / block)
            x = draw(dtype, (outer, length, width), scan.domain)
            output, sums = Output(x.shape, dtype), Output((outer * count * width,), _accumulator(dtype))
            sizes = [i64(length), i64(block), i64(count), i64(outer)]
            threads, group = (64, outer * count, 1), (64, 1, 1)
            launches = [
                Launch(f"{scan.name}_vec_block_reduce_{width}_{kind}", [to_device(x), sums.device, *sizes], threads, group),
                Launch(f"{scan.name}_vec_block_carry_{width}_{kind}", [to_device(x), output.device, sums.device, *sizes], threads, group),
            ]
            yield Case(launches, [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])


def _zeros(count: int) -> torch.Tensor:
    return to_device(torch.zeros(count, dtype=torch.int32))


def _decoupled(scan: Scan, library: Library) -> Iterator[Case]:
    for kind in _kinds(library, f"{scan.name}_contig_decoupled"):
        dtype, group = METAL[kind], 256
        length, rows = 20000, 2
        tiles = math.ceil(length / (16 * group))
        x = draw(dtype, (rows, length), Domain(-2, 2, False) if scan.name == "cumsum" else Domain(0.999, 1.001, False))
        output = Output(x.shape, dtype)
        # All bits set mark a slot that no tile has published.
        empty = torch.full((rows * tiles,), -1, dtype=torch.int32)
        scratch = [_zeros(1), to_device(empty), to_device(empty)]
        arguments = [to_device(x), output.device, *scratch, u32(length), u32(tiles)]
        launch = Launch(f"{scan.name}_contig_decoupled_{kind}", arguments, (rows * tiles * group,), (group,))
        yield Case([launch], [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])


def _strided_decoupled(scan: Scan, library: Library) -> Iterator[Case]:
    for width, reads in [(2, 8), (4, 4), (8, 4), (16, 2)]:
        for kind in _kinds(library, f"{scan.name}_strided_decoupled_{width}_{reads}"):
            dtype, group = METAL[kind], 512
            length, outer = 5000, 2
            tiles = math.ceil(length / (group * reads))
            x = draw(dtype, (outer, length, width), Domain(-2, 2, False) if scan.name == "cumsum" else Domain(0.999, 1.001, False))
            output = Output(x.shape, dtype)
            total = outer * tiles
            arguments = [to_device(x), output.device, _zeros(1), _zeros(total), _zeros(total * width), _zeros(total * width)]
            arguments += [u32(length), u32(tiles)]
            launch = Launch(f"{scan.name}_strided_decoupled_{width}_{reads}_{kind}", arguments, (total * group,), (group,))
            yield Case([launch], [Check(output, _want(scan, x, 1), _tolerance(scan, dtype))])


def _extreme(name: str, reference: Callable) -> Callable[[Library], Iterator[Case]]:
    def cases(library: Library) -> Iterator[Case]:
        for kind in _kinds(library, f"{name}_innermost"):
            dtype = METAL[kind]
            reads = 4 if dtype.itemsize <= 4 else 2
            domain = Domain(-100, 100, False)
            x = draw(dtype, (5, 700), domain)
            values, indices = Output(x.shape, dtype), Output(x.shape, torch.int64)
            group = math.ceil(700 / (reads * LANES)) * LANES
            launch = Launch(f"{name}_innermost_{kind}", [to_device(x), values.device, indices.device, i64(700)], (group, 5, 1), (group, 1, 1))
            want = reference(x, 1)
            yield Case([launch], [Check(values, want.values), Check(indices, want.indices)])

            x = draw(dtype, (3, 77, 45), domain)
            values, indices = Output(x.shape, dtype), Output(x.shape, torch.int64)
            group = COLUMNS // reads * LANES
            arguments = [to_device(x), values.device, indices.device, i64(77), i64(45), i64(2)]
            launch = Launch(f"{name}_outer_{kind}", arguments, (group, 3 * 2, 1), (group, 1, 1))
            want = reference(x, 1)
            yield Case([launch], [Check(values, want.values), Check(indices, want.indices)])

    return cases


def _family(suffix: str, build: Callable, name: str) -> Family:
    return Family(f"{name}{suffix}", "scans", lambda library: build(SCANS[name], library))


FAMILIES = [
    _family(suffix, build, name)
    for name in ("cumsum", "cumprod")
    for suffix, build in {
        "": _simple,
        " transposed and tiny": _transposed_and_tiny,
        " in blocks": _blocks,
        " in strided blocks": _strided_blocks,
        " in vector blocks": _vector_blocks,
        " decoupled": _decoupled,
        " strided decoupled": _strided_decoupled,
    }.items()
] + [
    _family("", _simple, "logcumsumexp"),
    Family("cummin", "scans", _extreme("cummin", torch.cummin)),
    Family("cummax", "scans", _extreme("cummax", torch.cummax)),
]
