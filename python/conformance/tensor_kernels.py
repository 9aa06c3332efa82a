"""Kernels with Metal 4's tensor operations, of real libraries, on random inputs against references in float64.

``runs(library)`` gives the runs of a library: "torch" for PyTorch's kernels for macOS 26, "mtlattn" for mtlattn's. As a program,
``python -m conformance.tensor_kernels [PART_OF_A_NAME...]`` downloads both libraries where they are missing, runs all kernels
that it knows, and prints the largest error of each family. Arguments are those of PyTorch's and mtlattn's host code.
"""

import math
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional

DTYPES = {"float": torch.float32, "half": torch.float16, "bfloat": torch.bfloat16}
# One rounding of a result to its type, relative to the result.
ROUNDING = {torch.float32: 6e-8, torch.float16: 4.9e-4, torch.bfloat16: 3.95e-3, torch.float8_e4m3fn: 6.3e-2}
# A sum of about a hundred products of numbers of order 1 in float32. Inputs are exact in every type.
SUM = 3e-5


@dataclass
class Run:
    """One dispatch, and what must come out."""

    kernel: str
    arguments: list[torch.Tensor | None]
    """By buffer index; ``None`` where nothing is bound."""
    groups: tuple[int, int, int]
    """Threadgroups of the grid."""
    threads: int | None
    """Threads of a threadgroup; ``None``: as many as the kernel is compiled for."""
    expected: dict[int, torch.Tensor]
    """Reference results by buffer index, in float64; integers exactly."""
    dtype: torch.dtype = torch.float32
    """Of the results."""
    tolerance: float = SUM
    """How far results may be from the reference, beside one rounding."""

    @property
    def family(self) -> str:
        """The kernel's name without sizes and types."""
        return re.sub(r"_(b\d|bm\d|bq\d|float|half|bfloat|\d|d\d).*", "", self.kernel)


def packed(form: str, *values: float) -> torch.Tensor:
    """A structure as bytes."""
    return torch.frombuffer(bytearray(struct.pack(form, *values)), dtype=torch.uint8).clone()


def word(value: int) -> torch.Tensor:
    """A ``constant uint&``."""
    return packed("I", value)


def strided(rows: int, columns: int, is_transposed: bool, dtype: torch.dtype) -> torch.Tensor:
    """A random matrix of exact values whose innermost dimension is the rows where it is transposed."""
    matrix = torch.randn((columns, rows) if is_transposed else (rows, columns)).to(dtype)
    return matrix.T if is_transposed else matrix


def memory(matrix: torch.Tensor) -> torch.Tensor:
    """The tensor as it lies in memory."""
    return torch.as_strided(matrix, (matrix.numel(),), (1,)).clone()


def with_tail(matrices: torch.Tensor, rows: int) -> torch.Tensor:
    """The matrices and as many more rows: kernels that update a factorization read whole tiles, and so behind the last matrix."""
    return torch.cat([matrices.reshape(-1), torch.zeros(rows * matrices.shape[-1], dtype=matrices.dtype)])


def ceil_div(a: int, b: int) -> int:
    """How many times ``b`` covers ``a``."""
    return -(-a // b)


def grouped_mm(kernel: str) -> Run:
    """``grouped_mm_{rows,k,cols}_mpp_<layouts>_<dtype>_bm<rows>_bn<columns>``."""
    mode, layouts, name, bm, bn = re.fullmatch(r"grouped_mm_(\w+?)_mpp_(\w\w)_(\w+)_bm(\d+)_bn(\d+)", kernel).groups()
    bm, bn, dtype, groups = int(bm), int(bn), DTYPES[name], 3
    m, n, k = 2 * bm + 5, bn + 19, 37
    transposed = [letter == "t" for letter in layouts]
    whole = {"rows": m, "k": k, "cols": n}[mode]
    # The second group is empty.
    ends = [whole // 3, whole // 3, whole]
    ranges = list(zip([0, *ends[:-1]], ends, strict=True))
    if mode == "rows":
        a, b = strided(m, k, transposed[0], dtype), [strided(k, n, transposed[1], dtype) for _ in range(groups)]
        parts = [a[start:end].double() @ b[group].double() for group, (start, end) in enumerate(ranges)]
        expected, batch_stride, out_rows = torch.cat(parts), k * n, m
        b_memory, a_memory = torch.cat([memory(matrix) for matrix in b]), memory(a)
        b_strides = b[0].stride()
        a_strides = a.stride()
    elif mode == "cols":
        a, b = [strided(m, k, transposed[0], dtype) for _ in range(groups)], strided(k, n, transposed[1], dtype)
        parts = [a[group].double() @ b[:, start:end].double() for group, (start, end) in enumerate(ranges)]
        expected, batch_stride, out_rows = torch.cat(parts, dim=1), m * k, m
        a_memory, b_memory = torch.cat([memory(matrix) for matrix in a]), memory(b)
        a_strides, b_strides = a[0].stride(), b.stride()
    else:
        a, b = strided(m, k, transposed[0], dtype), strided(k, n, transposed[1], dtype)
        expected = torch.stack([a[:, start:end].double() @ b[start:end].double() for start, end in ranges])
        batch_stride, out_rows = m * n, m * groups
        a_memory, b_memory, a_strides, b_strides = memory(a), memory(b), a.stride(), b.stride()
    parameters = packed("4I7q", m, n, k, groups, *a_strides, *b_strides, n, 1, batch_stride)
    offsets = torch.tensor(ends, dtype=torch.int32)
    out = torch.full((out_rows * n,), float("nan"), dtype=dtype)
    grid = (
        ceil_div(n, bn) + (groups if mode == "cols" else 0),
        ceil_div(m, bm) + (groups if mode == "rows" else 0),
        groups if mode == "k" else 1,
    )
    return Run(kernel, [a_memory, b_memory, offsets, out, parameters], grid, None, {3: expected.reshape(-1)}, dtype)


def int_mm(kernel: str) -> Run:
    """``int_mm_mpp_64_64_4``: exact."""
    m, k, n = 70, 45, 130
    a, b = (torch.randint(-128, 128, size, dtype=torch.int8) for size in ((m, k), (k, n)))
    strides = packed("6Q", k, 1, n, 1, n, 1)
    expected = (a.to(torch.int64) @ b.to(torch.int64)).reshape(-1)
    out = torch.zeros(m * n, dtype=torch.int32)
    sizes = packed("4I", m, k, n, 0)
    return Run(kernel, [a.reshape(-1), b.reshape(-1), out, strides, sizes], (ceil_div(n, 64), ceil_div(m, 64), 1), 128, {2: expected})


def scaled_mm(kernel: str) -> Run:
    """``scaled_mm_mpp_<dtype>``: products of float8 with a scale for each row and column."""
    name = kernel.removeprefix("scaled_mm_mpp_")
    dtype = DTYPES.get(name, torch.float8_e4m3fn)
    m, n, k = 45, 70, 50
    a, b = torch.randn(m, k).to(torch.float8_e4m3fn), torch.randn(k, n).to(torch.float8_e4m3fn)
    rows, columns = torch.rand(m) + 0.5, torch.rand(n) + 0.5
    bias = torch.randn(n).to(torch.bfloat16)
    has_bias = dtype != torch.float32
    expected = a.double() @ b.double() * rows.double()[:, None] * columns.double()
    if has_bias:
        expected = expected + bias.double()
    parameters = packed("3I4x6q3?5x", m, n, k, k, 1, n, 1, n, 1, True, has_bias, True)
    out = torch.zeros(m * n, dtype=torch.uint8 if dtype == torch.float8_e4m3fn else dtype)
    arguments = [a.view(torch.uint8).reshape(-1), b.view(torch.uint8).reshape(-1), out, rows, columns, bias, parameters]
    return Run(kernel, arguments, (ceil_div(n, 32), ceil_div(m, 32), 1), 128, {2: expected.reshape(-1)}, dtype)


def prefill_attention(kernel: str) -> Run:
    """``prefill_attention_mpp_{a9,a10}_...``: flash attention, cooperative tensors filled by hand."""
    found = re.fullmatch(r"prefill_attention_mpp_a\d+_(b?float16)_bq(\d+)_bk\d+_bd(\d+)_wm(\d)_wn\d_hm(\d)_dc(\d)_mask(\w+)", kernel)
    name, block, depth, simdgroups, has_mask, is_causal, mask_name = found.groups()
    dtype = {"float16": torch.float16, "bfloat16": torch.bfloat16}[name]
    block, depth, has_mask, is_causal = int(block), int(depth), has_mask == "1", is_causal == "1"
    batch, heads, gqa, queries, keys = 1, 2, 2, 75, 90
    q = torch.randn(batch, heads, queries, depth).to(dtype)
    k, v = (torch.randn(batch, heads // gqa, keys, depth).to(dtype) for _ in range(2))
    scale = 1 / math.sqrt(depth)
    mask_dtype = {"bool_": torch.bool, "float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}[mask_name]
    mask = torch.randn(batch, heads, queries, keys)
    mask = mask > 0 if mask_dtype == torch.bool else mask.to(mask_dtype)
    if mask_dtype == torch.bool:
        # Every query sees a key, also the first one of a causal kernel.
        mask[..., 0] = True
    wide = lambda tensor: tensor.double().repeat_interleave(gqa, 1)
    scores = q.double() @ wide(k).transpose(-1, -2) * scale
    if has_mask:
        scores = scores.masked_fill(~mask, -math.inf) if mask_dtype == torch.bool else scores + mask.double()
    if is_causal:
        scores = scores.masked_fill(~torch.ones(queries, keys, dtype=torch.bool).tril(), -math.inf)
    expected = scores.softmax(-1) @ wide(v)
    strides = [*q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *q.stride()[:3]]
    parameters = packed("6i2f12q", batch, heads, depth, queries, keys, gqa, scale, 1.0, *strides)
    mask_parameters = packed("4q", *mask.stride())
    flat = [tensor.reshape(-1) for tensor in (q, k, v)]
    out = torch.zeros(q.numel(), dtype=dtype)
    arguments = [*flat, out, parameters, mask_parameters, mask.reshape(-1)]
    # The kernel rounds scores' exponentials to its type.
    tolerance = 2 * ROUNDING[dtype]
    grid = (ceil_div(queries, block), heads, batch)
    return Run(kernel, arguments, grid, 32 * int(simdgroups), {3: expected.reshape(-1)}, dtype, tolerance)


def conv3d(kernel: str) -> Run:
    """``conv3d_mpp_...``: one convolution2d for each place of the kernel's depth."""
    pattern = r"conv3d_mpp_(\w+?)_b(\d+)_w(\d+)_h(\d+)_s(\d)_k(\d)(\d)(\d)_s(\d)(\d)(\d)_d(\d)(\d)(\d)_c(\w+?)_(no)?bias_(\w+?)_(un)?grouped"
    found = re.fullmatch(pattern, kernel).groups()
    name, (tile_o, tile_w, tile_h, simdgroups) = found[0], map(int, found[1:5])
    kernel_size, stride, dilation = ([int(digit) for digit in found[at : at + 3]] for at in (5, 8, 11))
    channels, has_bias, layout, is_grouped = found[14], found[15] is None, found[16], found[17] is None
    dtype, groups, batch = DTYPES[name], 2 if is_grouped else 1, 2
    inputs = 21 if channels == "dyn" else int(channels)
    outputs = tile_o + 6
    padding = [size // 2 for size in kernel_size]
    source = [4, 2 * tile_h + 3, tile_w * stride[2] + 5]
    activations = torch.randn(batch, groups * inputs, *source).to(dtype)
    weights = torch.randn(groups * outputs, inputs, *kernel_size).to(dtype)
    bias = torch.randn(groups * outputs).to(dtype)
    conv = functional.conv3d(activations.double(), weights.double(), bias.double() if has_bias else None, stride, padding, dilation, groups)
    depth, height, width = conv.shape[2:]
    expected = conv if layout == "ncdhw" else conv.permute(0, 2, 3, 4, 1)
    plane = [batch, groups * inputs, groups * outputs, source[1], source[2], height, width, *kernel_size[1:], *stride[1:], *padding[1:], *dilation[1:], inputs, outputs]
    volume = [source[0], depth, kernel_size[0], stride[0], padding[0], dilation[0]]
    parameters = packed("17i?3x6i?3x", *plane, has_bias, *volume, layout == "ncdhw")
    # Activations NDHWC, weights DHWIO.
    arguments = [
        activations.permute(0, 2, 3, 4, 1).reshape(-1),
        weights.permute(2, 3, 4, 1, 0).reshape(-1),
        torch.full((conv.numel(),), float("nan"), dtype=dtype),
        parameters,
        bias,
    ]
    grid = (ceil_div(outputs, tile_o) * groups, ceil_div(width, tile_w), ceil_div(height, tile_h) * batch * depth)
    return Run(kernel, arguments, grid, 32 * simdgroups, {2: expected.reshape(-1)}, dtype, 4 * SUM)


def syrk_trailing(kernel: str) -> Run:
    """``applySYRKTrailing{U,L}_<rows>_<columns>_<SIMD-groups>``: the update of what is left of a Cholesky factorization."""
    side, bm, bn, simdgroups = re.fullmatch(r"applySYRKTrailing(\w)_(\d+)_(\d+)_(\d)", kernel).groups()
    bm, bn = int(bm), int(bn)
    batch, size, panel, step = 2, 32 + 2 * max(bm, bn) + 7, 32, 0
    start = (step + 1) * panel
    matrix = torch.randn(batch, size, size)
    expected = matrix.double().clone()
    # The lower factor is stored transposed: A[c][r] is element (r, c).
    whole = expected if side == "U" else expected.transpose(1, 2)
    strip = whole[:, start:, step * panel : start].clone()
    update = whole[:, start:, start:] - strip @ strip.transpose(1, 2)
    rest = size - start
    rows, columns = torch.arange(rest)[:, None], torch.arange(rest)[None]
    # Tiles above the diagonal are left alone.
    is_computed = (rows // bm * bm + bm) > columns // bn * bn
    whole[:, start:, start:] = torch.where(is_computed, update, whole[:, start:, start:])
    grid = (ceil_div(rest, bn), ceil_div(rest, bm), batch)
    arguments = [with_tail(matrix, bm + bn), None, word(size), word(panel), word(step)]
    return Run(kernel, arguments, grid, 32 * int(simdgroups), {0: with_tail(expected, bm + bn)})


def gemm_lu(kernel: str) -> Run:
    """``gemmLU_<rows>_<columns>_<SIMD-groups>``: the Schur update of an LU factorization."""
    bm, bn, simdgroups = (int(part) for part in kernel.split("_")[1:])
    batch, rows, columns = 2, 2 * bm + 40, 2 * bn + 50
    matrix = torch.randn(batch, rows, columns)
    top, left, first, depth = 33, 34, 2, 31
    expected = matrix.double().clone()
    expected[:, top:, left:] -= expected[:, top:, first : first + depth] @ expected[:, first : first + depth, left:]
    arguments = [
        with_tail(matrix, bm),
        None,
        None,
        packed("2I", rows, columns),
        packed("4I", top, rows, left, columns),
        packed("4I", first, depth, 0, 0),
    ]
    grid = (ceil_div(columns - left, bn), ceil_div(rows - top, bm), batch)
    return Run(kernel, arguments, grid, 32 * simdgroups, {0: with_tail(expected, bm)})


def conv1d(kernel: str) -> Run:
    """``conv1d_mpp_<input layout>_<output layout>_b<channels>_s<SIMD-groups>_<dtype>``: a product for each place of the kernel."""
    source, target, tile, simdgroups, name = re.fullmatch(r"conv1d_mpp_(n\w\w)_(n\w\w)_b(\d+)_s(\d)_(\w+)", kernel).groups()
    tile, dtype = int(tile), DTYPES[name]
    groups, batch, inputs, outputs, width, size, dilation = 2, 2, 19, tile + 9, 150, 3, 2
    # Only NLC has strides, only NCL padding: a copy of the padded head of each row serves the first tiles.
    stride, padding = (2, 0) if source == "nlc" else (1, 70)
    activations = torch.randn(batch, groups * inputs, width).to(dtype)
    weights = torch.randn(groups * outputs, inputs, size).to(dtype)
    bias = torch.randn(groups * outputs).to(dtype)
    conv = functional.conv1d(activations.double(), weights.double(), bias.double(), stride, padding, dilation, groups)
    out_width = conv.shape[2]
    head_width = min(width + padding, ceil_div(padding, 64) * 64 + (size - 1) * dilation)
    head = functional.pad(activations, (padding, 0))[..., :head_width]
    parameters = packed(
        "17i?3x",
        *(batch, groups * inputs, groups * outputs, 1, width, 1, out_width, 1, size, 1, stride, 0, padding, 1, dilation),
        *(inputs, outputs, True),
    )
    arranged = activations if source == "ncl" else activations.transpose(1, 2)
    arguments = [
        arranged.reshape(-1),
        weights.permute(2, 0, 1).reshape(-1),
        torch.full((conv.numel(),), float("nan"), dtype=dtype),
        parameters,
        bias,
        head.reshape(-1),
    ]
    expected = conv if target == "ncl" else conv.transpose(1, 2)
    grid = (ceil_div(outputs, tile) * groups, ceil_div(out_width, 64), batch)
    return Run(kernel, arguments, grid, 32 * int(simdgroups), {2: expected.reshape(-1)}, dtype)


def triangular_solve(kernel: str) -> Run:
    """``triangular_solve_small_mpp[_general]_<size>``: all right-hand sides of a batch; unit lower triangles but for general."""
    size = int(kernel.split("_")[-1])
    is_general = "general" in kernel
    batch, columns = 3, 77
    upper, transpose, unit = (bool(flag) for flag in torch.randint(0, 2, (3,))) if is_general else (False, False, True)
    b_columns, x_columns = (bool(flag) for flag in torch.randint(0, 2, (2,)))
    a = torch.randn(batch, size, size) / size + 2 * torch.eye(size)
    b = torch.randn(batch, size, columns)
    side = a.double().mT if transpose else a.double()
    expected = torch.linalg.solve_triangular(side, b.double(), upper=upper != transpose, unitriangular=unit)
    arrange = lambda matrix, is_columns: (matrix.mT if is_columns else matrix).reshape(-1)
    parameters = packed("3I6?2x", batch, size, columns, upper, transpose, False, unit, b_columns, x_columns)
    out = torch.full((b.numel(),), float("nan"))
    arguments = [a.reshape(-1), arrange(b, b_columns), out, parameters]
    return Run(kernel, arguments, (batch, 1, 1), None, {2: arrange(expected, x_columns)})
