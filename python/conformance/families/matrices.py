"""Matrix products: tiled, batched, with a vector, grouped, of integers, of 8-bit floats, with weights of 4 and 8 bits."""

import itertools
import math
import re
from collections.abc import Callable, Iterator

import torch

from conformance.cases import EXACT, Case, Check, Family, Launch, Library, Tolerance, rounded
from conformance.dtypes import METAL
from conformance.families.unary import chosen
from conformance.inputs import Domain, draw
from conformance.memory import Output, i32, i64, pack, to_device, u32

SMALL = Domain(-2, 2, False)
TILE = 16
# Sums of 50 to 200 products of numbers up to 2, in another order than the reference's.
PRODUCTS = Tolerance(2e-6, 2e-5)


def _wide(x: torch.Tensor) -> torch.Tensor:
    if x.dtype.is_complex:
        return x.to(torch.complex64).to(torch.complex128)
    return x.double() if x.dtype.is_floating_point else x.long()


def _tolerance(dtype: torch.dtype) -> Tolerance:
    return rounded(PRODUCTS, dtype) if dtype.is_floating_point or dtype.is_complex else EXACT


def _kinds(library: Library, prefix: str) -> list[str]:
    return [kind for kind in METAL if library.has(f"{prefix}_{kind}")]


def _tiles(rows: int, columns: int) -> tuple[int, int]:
    return math.ceil(columns / TILE) * TILE, math.ceil(rows / TILE) * TILE


def _scales(dtype: torch.dtype) -> torch.Tensor:
    """`alpha` and `beta` in the type that the kernel computes in."""
    wide = torch.float32 if dtype.is_floating_point else torch.complex64 if dtype.is_complex else torch.int64 if dtype == torch.int64 else torch.int32
    return to_device(torch.tensor([2, 3], dtype=wide))


def _matmul(library: Library) -> Iterator[Case]:
    m, k, n = 37, 51, 43
    for kind in _kinds(library, "matmul"):
        dtype = METAL[kind]
        a, b = draw(dtype, (m, k), SMALL), draw(dtype, (n, k), SMALL)
        output = Output((m, n), dtype)
        strides = i64(k, 1, 1, k, n, 1)
        launch = Launch(f"matmul_{kind}", [to_device(a), to_device(b), output.device, strides, u32(m, k, n, 0)], _tiles(m, n), (TILE, TILE))
        yield Case([launch], [Check(output, (_wide(a) @ _wide(b).T).to(dtype), _tolerance(dtype))])


def _int_mm(library: Library) -> Iterator[Case]:
    m, k, n = 37, 51, 43
    for kind in ("char", "uchar"):
        if library.has(f"int_mm_{kind}"):
            a, b = draw(METAL[kind], (m, k), Domain(-120, 120, False)), draw(torch.int8, (k, n), Domain(0 if kind == "uchar" else -120, 120, False))
            output = Output((m, n), torch.int32)
            arguments = [to_device(a), to_device(b.to(METAL[kind])), output.device, i64(k, 1, n, 1, n, 1), u32(m, k, n, 0)]
            want = (a.long() @ b.long()).to(torch.int32)
            yield Case([Launch(f"int_mm_{kind}", arguments, _tiles(m, n), (TILE, TILE))], [Check(output, want)])


def _addmm(library: Library) -> Iterator[Case]:
    m, k, n = 37, 51, 43
    for kind in _kinds(library, "addmm"):
        dtype = METAL[kind]
        a, b, bias = draw(dtype, (m, k), SMALL), draw(dtype, (k, n), SMALL), draw(dtype, (n,), SMALL)
        output = Output((m, n), dtype)
        arguments = [to_device(a), to_device(b), output.device, to_device(bias), _scales(dtype), i64(k, 1, n, 1, n, 1, 0, 1), u32(m, k, n, 0)]
        want = (2 * (_wide(a) @ _wide(b)) + 3 * _wide(bias)).to(dtype)
        yield Case([Launch(f"addmm_{kind}", arguments, _tiles(m, n), (TILE, TILE))], [Check(output, want, _tolerance(dtype))])


def _batched(name: str) -> Callable[[Library], Iterator[Case]]:
    def cases(library: Library) -> Iterator[Case]:
        batch, m, k, n = 3, 21, 35, 19
        for kind in _kinds(library, name):
            dtype = METAL[kind]
            a, b, bias = draw(dtype, (batch, m, k), SMALL), draw(dtype, (batch, k, n), SMALL), draw(dtype, (batch, m, n), SMALL)
            is_sum = name == "naive_addbmm"
            output = Output((m, n) if is_sum else (batch, m, n), dtype)
            # Column, row and batch strides of each operand.
            strides = [1, k, m * k, 1, n, k * n, 1, n, 0 if is_sum else m * n]
            product = _wide(a) @ _wide(b)
            arguments = [to_device(a), to_device(b), output.device]
            if name == "naive_bmm":
                want, arguments = product, [*arguments, i64(*strides)]
            else:
                want = 2 * product.sum(0) + 3 * _wide(bias)[0] if is_sum else 2 * product + 3 * _wide(bias)
                arguments += [to_device(bias), _scales(dtype), i64(*strides, 1, n, 0 if is_sum else m * n)]
            arguments.append(u32(m, k, n, batch))
            threads = (*_tiles(m, n), 1 if is_sum else batch)
            yield Case([Launch(f"{name}_{kind}", arguments, threads, (TILE, TILE, 1))], [Check(output, want.to(dtype), _tolerance(dtype))])

    return cases


GEMV = re.compile(r"gemv_(t2d|t|nt)_(float|half|bfloat|float2|half2|int|long|short|char|uchar)_(\d+)_(\d+)_(ab|none)(_xc|_xs)?(_strided)?(_i64)?$")


def _gemv_case(name: str, form: str, kind: str, simdgroups: int, width: int, epilogue: str, is_strided: bool) -> Case:
    dtype, gap = METAL[kind], 2 if is_strided else 1
    outputs, length = 150, 96
    shape = (outputs, length) if form == "nt" else (length, outputs)
    matrix, x, bias = draw(dtype, shape, SMALL), draw(dtype, (length,), SMALL), draw(dtype, (outputs,), SMALL)
    # Rows keep the alignment that wide loads need.
    row = math.ceil(shape[1] * gap / 16) * 16
    memory = torch.zeros(shape[0] * row, dtype=dtype)
    memory.as_strided(shape, (row, gap)).copy_(matrix)
    product = (_wide(matrix) if form == "nt" else _wide(matrix).T) @ _wide(x)
    want = 2 * product + 3 * _wide(bias) if epilogue == "ab" else product
    output = Output((outputs,), dtype)
    dims = i64(outputs, length, row, gap, 1, 1, 1)
    scales = to_device(torch.tensor([2.0, 3.0]))
    if form == "nt":
        groups = math.ceil(outputs / simdgroups)
    else:
        columns = 32 * width if form == "t" else 32 // width * (16 // dtype.itemsize)
        groups = math.ceil(outputs / columns)
    arguments = [to_device(memory), to_device(x), output.device, dims, to_device(bias), scales]
    group = 32 * simdgroups
    return Case([Launch(name, arguments, (groups * group, 1, 1), (group, 1, 1))], [Check(output, want.to(dtype), _tolerance(dtype))])


def _gemv(form: str) -> Callable[[Library], Iterator[Case]]:
    def cases(library: Library) -> Iterator[Case]:
        found = [match for match in map(GEMV.match, sorted(library.names)) if match and match[1] == form]
        for match in chosen(found, library.is_thorough, False, 24):
            yield _gemv_case(match[0], form, match[2], int(match[3]), int(match[4]), match[5], bool(match[7]))

    return cases


def _grouped_rows(library: Library) -> Iterator[Case]:
    for name in sorted(library.names):
        match = re.fullmatch(r"grouped_mm_rows_(float|half|bfloat)_bm(\d+)_(u32|u64)", name)
        if not match:
            continue
        dtype, tile, letter = METAL[match[1]], int(match[2]), {"u32": "I", "u64": "Q"}[match[3]]
        ends, n, k = [11, 11, 60, 75], 70, 33
        m, groups = ends[-1], len(ends)
        a, b = draw(dtype, (m, k), SMALL), draw(dtype, (groups, k, n), SMALL)
        output = Output((m, n), dtype)
        params = pack(f"4I7{letter}", m, n, k, groups, k, 1, n, 1, n, 1, k * n)
        starts = [0, *ends[:-1]]
        want = torch.cat([_wide(a)[start:end] @ _wide(b)[index] for index, (start, end) in enumerate(zip(starts, ends))]).to(dtype)
        grid = (math.ceil(n / 64), math.ceil(m / tile) + groups)
        yield _grouped_launch(library, name, [a, b, i32(*ends)], output, params, grid, want)


def _grouped_launch(library, name, operands, output, params, grid, want) -> Case:
    """One threadgroup a tile; the number of SIMD-groups is the kernel's own limit."""
    a, b, offsets = operands
    arguments = [to_device(a), to_device(b), offsets, output.device, params]

    def threads(limit: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        return (grid[0] * limit, grid[1], grid[2] if len(grid) > 2 else 1), (limit, 1, 1)

    return Case([Launch(name, arguments, *threads(_grouped_threads(name)))], [Check(output, want, _tolerance(output.dtype))])


def _grouped_threads(name: str) -> int:
    """Threads of a threadgroup, from the tile in the name: two SIMD-groups for narrow tiles, four for wide ones."""
    rows = int(re.search(r"_bm(\d+)_", name)[1])
    return 64 if rows < 64 else 128


def _grouped_k(library: Library) -> Iterator[Case]:
    for name in sorted(library.names):
        match = re.fullmatch(r"grouped_mm_k_(float|half|bfloat)_bm(\d+)_(u32|u64)", name)
        if not match:
            continue
        dtype, tile, letter = METAL[match[1]], int(match[2]), {"u32": "I", "u64": "Q"}[match[3]]
        ends, m, n = [17, 50, 93], 45, 70
        k, groups = ends[-1], len(ends)
        a, b = draw(dtype, (m, k), SMALL), draw(dtype, (k, n), SMALL)
        output = Output((groups, m, n), dtype)
        params = pack(f"4I7{letter}", m, n, k, groups, k, 1, n, 1, n, 1, m * n)
        starts = [0, *ends[:-1]]
        want = torch.stack([_wide(a)[:, start:end] @ _wide(b)[start:end] for start, end in zip(starts, ends)]).to(dtype)
        grid = (math.ceil(n / 64), math.ceil(m / tile), groups)
        yield _grouped_launch(library, name, [a, b, i32(*ends)], output, params, grid, want)


def _float8(shape: tuple[int, ...]) -> torch.Tensor:
    return draw(torch.float32, shape, SMALL).to(torch.float8_e4m3fn)


def _scaled(few_rows: int) -> Callable[[Library], Iterator[Case]]:
    def cases(library: Library) -> Iterator[Case]:
        for kind in ("float", "half", "bfloat"):
            name = f"scaled_mm_few_rows_{few_rows}_{kind}" if few_rows else f"scaled_mm_{kind}"
            if not library.has(name):
                continue
            for is_rowwise in (False, True):
                dtype, m, n, k = METAL[kind], few_rows or 45, 80, 128
                a, b = _float8((m, k)), _float8((n, k))
                count = (m, n) if is_rowwise else (1, 1)
                scales = [torch.rand(each) + 0.5 for each in count]
                output = Output((m, n), dtype)
                # b is column-major, as the operation requires.
                params = pack("3I4x6q3?5x", m, n, k, k, 1, 1, k, n, 1, is_rowwise, False, False)
                want = (a.double() * scales[0].double()[:, None]) @ (b.double() * scales[1].double()[:, None]).T
                arguments = [to_device(a), to_device(b), output.device, *map(to_device, scales), u32(0), params]
                group = 128
                threads: tuple[int, ...] = (math.ceil(n / 32) * group, math.ceil(m / 32))
                shape: tuple[int, ...] = (group, 1)
                if few_rows:
                    threads, shape = (math.ceil(n / 4) * group,), (group,)
                tolerance = rounded(Tolerance(1e-5, 1e-3), dtype)
                yield Case([Launch(name, arguments, threads, shape)], [Check(output, want.to(dtype), tolerance)])

    return cases


def _few_rows(library: Library) -> Iterator[Case]:
    for rows in range(1, 5):
        yield from _scaled(rows)(library)


def _int4_weights(library: Library) -> Iterator[Case]:
    n, words = 24, 13
    if not library.has("weight_to_int4pack"):
        return
    packed = torch.randint(0, 256, (n, words * 4), dtype=torch.uint8)
    # The two halves of each byte change places.
    want = (packed << 4) | (packed >> 4)
    output = Output(tuple(packed.shape), torch.uint8)
    launch = Launch("weight_to_int4pack", [to_device(packed), output.device, u32(n, words)], (n, words))
    yield Case([launch], [Check(output, want)])


def _int4pack_mm(library: Library) -> Iterator[Case]:
    m, n, k = 5, 24, 512
    for group, kind in itertools.product((32, 64, 128, 256), ("float", "half", "bfloat")):
        name = f"int4pack_mm_{group}_{kind}"
        if not library.has(name):
            continue
        dtype = METAL[kind]
        a, weights = draw(dtype, (m, k), SMALL), torch.randint(0, 16, (n, k), dtype=torch.uint8)
        scales, zeros = draw(dtype, (k // group, n), Domain(0.05, 0.2, False)), draw(dtype, (k // group, n), SMALL)
        # Weights stand for numbers around zero; the kernel adds what that takes away in its own type.
        offsets = (zeros - scales * 8).double()
        wide = weights.double() * scales.double().T.repeat_interleave(group, 1) + offsets.T.repeat_interleave(group, 1)
        output = Output((m, n), dtype)
        bytes_of_two = weights[:, 0::2] | (weights[:, 1::2] << 4)
        arguments = [to_device(a), to_device(bytes_of_two), to_device(torch.stack([scales, zeros], -1)), output.device, u32(m, k, n, 0)]
        # Four rows of weights a SIMD-group of 32.
        launch = Launch(name, arguments, (n // 4 * 32, 1, m), (64, 1, 1))
        yield Case([launch], [Check(output, (a.double() @ wide.T).to(dtype), rounded(Tolerance(2e-6, 2e-4), dtype))])


def _int8pack(library: Library) -> Iterator[Case]:
    # `large_m_int8pack_mm` is left out: at its end one SIMD-group reads what the others write, without a barrier between.
    m, n, k = 5, 40, 96
    for kind in ("float", "half", "bfloat"):
        name = f"int8pack_mv_{kind}"
        if not library.has(name):
            continue
        dtype = METAL[kind]
        a, weights = draw(dtype, (m, k), SMALL), draw(torch.int8, (n, k), Domain(-120, 120, False))
        scales = draw(dtype, (n,), Domain(0.01, 0.02, False))
        output = Output((m, n), dtype)
        want = ((a.double() @ weights.double().T) * scales.double()).to(dtype)
        arguments = [to_device(a), to_device(weights), to_device(scales), output.device, u32(m, k, n, 0)]
        # A threadgroup has eight columns of a row, and their scales in its memory.
        launch = Launch(name, arguments, (n // 8 * 32, 2 * m), (32, 2), {0: 32})
        yield Case([launch], [Check(output, want, rounded(Tolerance(5e-6, 5e-4), dtype))])


FAMILIES = [
    Family("matmul", "matrices", _matmul),
    Family("int_mm", "matrices", _int_mm),
    Family("addmm", "matrices", _addmm),
    Family("bmm", "matrices", _batched("naive_bmm")),
    Family("baddbmm", "matrices", _batched("naive_baddbmm")),
    Family("addbmm", "matrices", _batched("naive_addbmm")),
    Family("gemv_t", "matrices", _gemv("t")),
    Family("gemv_t2d", "matrices", _gemv("t2d")),
    Family("gemv_nt", "matrices", _gemv("nt")),
    Family("grouped_mm over rows", "matrices", _grouped_rows),
    Family("grouped_mm over k", "matrices", _grouped_k),
    Family("scaled_mm", "matrices", _scaled(0)),
    Family("scaled_mm of few rows", "matrices", _few_rows),
    Family("int8pack_mm of few rows", "matrices", _int8pack),
    Family("weights of 4 bits", "matrices", _int4_weights),
    Family("int4pack_mm", "matrices", _int4pack_mm),
]
