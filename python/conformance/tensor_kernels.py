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
    # The least subnormal of float8 is 2^-9.
    tolerance = 2**-10 + SUM if dtype == torch.float8_e4m3fn else SUM
    return Run(kernel, arguments, (ceil_div(n, 32), ceil_div(m, 32), 1), 128, {2: expected.reshape(-1)}, dtype, tolerance)


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


@dataclass
class Sequences:
    """Sequences of several lengths in one tensor each of queries, keys and values, and their attention."""

    dtype: torch.dtype
    depth: int
    heads: int = 4
    per_key_head: int = 2
    is_causal: bool = False
    window: int = 0

    def __post_init__(self) -> None:
        self.query_ends, self.key_ends = [0, 37, 70], [0, 50, 131]
        self.scale = 1 / math.sqrt(self.depth)
        key_heads = self.heads // self.per_key_head
        self.q = torch.randn(self.query_ends[-1], self.heads, self.depth).to(self.dtype)
        self.k, self.v = (torch.randn(self.key_ends[-1], key_heads, self.depth).to(self.dtype) for _ in range(2))

    @property
    def longest_queries(self) -> int:
        """Rows of the longest sequence."""
        return max(end - start for start, end in self.pairs(self.query_ends))

    @staticmethod
    def pairs(ends: list[int]) -> list[tuple[int, int]]:
        """Where each sequence starts and ends."""
        return list(zip(ends[:-1], ends[1:], strict=True))

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, keys: Callable[[int], tuple[int, int]] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Results [rows, heads, depth] and logarithms of the sums [rows, heads]; ``keys`` limits the keys of a sequence by its length."""
        results, logarithms = [], []
        for (q_start, q_end), (k_start, k_end) in zip(self.pairs(self.query_ends), self.pairs(self.key_ends), strict=True):
            first, last = keys(k_end - k_start) if keys else (0, k_end - k_start)
            wide = lambda tensor: tensor[k_start:k_end][first:last].repeat_interleave(self.per_key_head, 1)  # noqa: B023
            scores = torch.einsum("qhd,khd->hqk", q[q_start:q_end], wide(k)) * self.scale
            diagonal = torch.arange(q_end - q_start)[:, None] + (k_end - k_start) - (q_end - q_start)
            key = torch.arange(first, last)[None]
            if self.is_causal:
                scores = scores.masked_fill(key > diagonal, -math.inf)
            if self.window:
                scores = scores.masked_fill(key <= diagonal - self.window, -math.inf)
            logarithm = scores.logsumexp(-1)
            weights = torch.where(logarithm[..., None].isinf(), 0.0, (scores - logarithm[..., None]).exp())
            results.append(torch.einsum("hqk,khd->qhd", weights, wide(v)))
            logarithms.append(logarithm.T)
        return torch.cat(results), torch.cat(logarithms)

    def ends(self) -> list[torch.Tensor]:
        """The kernels' arguments ``cu_q`` and ``cu_kv``."""
        return [torch.tensor(ends, dtype=torch.int32) for ends in (self.query_ends, self.key_ends)]


def mtlattn_type(kernel: str) -> tuple[torch.dtype, int]:
    """Type and depth of a head."""
    depth = re.search(r"_d(\d+)", kernel)
    return (torch.bfloat16 if "bfloat" in kernel else torch.float16), int(depth.group(1)) if depth else 128


def attention_tile(kernel: str) -> Run:
    """``attn_mpp_1tile`` and ``attn_mpp_flash``: one head; at most 64 keys, and any number."""
    is_flash = kernel.endswith("flash")
    rows, keys, depth = 75, 150 if is_flash else 60, 128
    q, k, v = (torch.randn(count, depth).half() for count in (rows, keys, keys))
    scale = 1 / math.sqrt(depth)
    expected = (q.double() @ k.double().T * scale).softmax(-1) @ v.double()
    out = torch.zeros(rows * depth, dtype=torch.float16)
    accumulator = torch.zeros(rows * depth) if is_flash else None
    arguments = [q.reshape(-1), k.reshape(-1), v.reshape(-1), out, word(rows), word(keys), packed("f", scale), accumulator]
    grid = (ceil_div(rows, 32 if is_flash else 64), 1, 1)
    return Run(kernel, arguments, grid, 128, {3: expected.reshape(-1)}, torch.float16, 2 * ROUNDING[torch.float16])


def attention_varlen(kernel: str) -> Run:
    """``attn_mpp_varlen_*``: sequences of several lengths, causal, in a window, with shared keys."""
    dtype, depth = mtlattn_type(kernel)
    sequences = Sequences(dtype, depth, is_causal=True, window=23)
    expected, logarithms = sequences.attend(sequences.q.double(), sequences.k.double(), sequences.v.double())
    rows = 32 if "tm32" in kernel else 16
    out = torch.zeros(sequences.q.numel(), dtype=dtype)
    flat = [tensor.reshape(-1) for tensor in (sequences.q, sequences.k, sequences.v)]
    strides = [word(tensor.stride(0)) for tensor in (sequences.q, sequences.k, sequences.v)]
    lse = torch.zeros(logarithms.numel())
    arguments = [*flat, out, *sequences.ends(), word(sequences.heads), packed("f", sequences.scale), *strides]
    arguments += [word(1), word(sequences.per_key_head), word(sequences.window), lse, word(1), torch.zeros(1), word(0), word(0), word(0)]
    results = {3: expected.reshape(-1), 14: logarithms.reshape(-1)}
    grid = (ceil_div(sequences.longest_queries, rows), 2, sequences.heads)
    return Run(kernel, arguments, grid, 128, results, dtype, 2 * ROUNDING[dtype])


def attention_split(kernel: str) -> Run:
    """``attn_mpp_split_*``: each split sees a part of the keys, a multiple of 48 of them."""
    dtype, depth = mtlattn_type(kernel)
    sequences, splits = Sequences(dtype, depth), 2
    size = lambda keys: ceil_div(ceil_div(keys, splits), 48) * 48
    q, k, v = (tensor.double() for tensor in (sequences.q, sequences.k, sequences.v))
    parts = [
        sequences.attend(q, k, v, lambda keys, split=split: (split * size(keys), min((split + 1) * size(keys), keys)))
        for split in range(splits)
    ]
    expected, logarithms = (torch.stack(list(part)).reshape(-1) for part in zip(*parts, strict=True))
    rows = sequences.query_ends[-1]
    flat = [tensor.reshape(-1) for tensor in (sequences.q, sequences.k, sequences.v)]
    strides = [word(tensor.stride(0)) for tensor in (sequences.q, sequences.k, sequences.v)]
    arguments = [
        *flat,
        torch.zeros(expected.numel()),
        torch.zeros(logarithms.numel()),
        *sequences.ends(),
        word(sequences.heads),
        packed("f", sequences.scale),
        *strides,
        *(word(value) for value in (0, sequences.per_key_head, splits, rows)),
    ]
    grid = (ceil_div(sequences.longest_queries, 16), 2 * splits, sequences.heads)
    return Run(kernel, arguments, grid, 128, {3: expected, 4: logarithms}, torch.float32, 4 * ROUNDING[dtype])


def attention_combine(kernel: str) -> Run:
    """``attn_mpp_combine_*``: the results of splits as one; a row that no split has a key for is zero."""
    dtype, depth = mtlattn_type(kernel)
    splits, rows, heads = 3, 17, 2
    partial, logarithms = torch.randn(splits, rows, heads, depth), torch.randn(splits, rows, heads)
    logarithms[:, 3] = -math.inf
    weights = torch.where(logarithms.isinf(), 0.0, logarithms.double().softmax(0).nan_to_num())
    expected = (partial.double() * weights[..., None]).sum(0)
    out = torch.zeros(rows * heads * depth, dtype=dtype)
    arguments = [partial.reshape(-1), logarithms.reshape(-1), out, word(heads), word(splits), word(rows)]
    return Run(kernel, arguments, (rows, heads, 1), 128, {2: expected.reshape(-1)}, dtype)


def attention_backward(kernel: str) -> Run:
    """``attn_mpp_bwd_{dq,dkv}_*``: gradients of the attention of sequences."""
    dtype, depth = mtlattn_type(kernel)
    sequences = Sequences(dtype, depth, is_causal=True)
    inputs = [tensor.double().requires_grad_() for tensor in (sequences.q, sequences.k, sequences.v)]
    result, logarithms = sequences.attend(*inputs)
    gradient = torch.randn(result.shape).to(dtype)
    expected = torch.autograd.grad(result, inputs, gradient.double())
    delta = (gradient.double() * result).sum(-1).detach().float()
    flat = [tensor.reshape(-1) for tensor in (sequences.q, sequences.k, sequences.v, gradient, logarithms.detach().float(), delta)]
    is_dq = "_dq_" in kernel
    outputs = expected[:1] if is_dq else expected[1:]
    masks = [word(1), word(0), torch.zeros(1), word(0), word(0)]
    arguments = [
        *flat,
        *(torch.zeros(output.numel()) for output in outputs),
        *sequences.ends(),
        word(sequences.heads),
        packed("f", sequences.scale),
        word(sequences.per_key_head),
        *masks,
    ]
    ends = sequences.query_ends if is_dq else sequences.key_ends
    longest = max(end - start for start, end in Sequences.pairs(ends))
    heads = sequences.heads if is_dq else sequences.heads // sequences.per_key_head
    # A block of the least size: blocks behind the end do nothing.
    grid = (ceil_div(longest, 8), 2, heads)
    results = {6 + index: output.reshape(-1) for index, output in enumerate(outputs)}
    # Weights and their gradients are rounded to the type, and dozens of them summed.
    return Run(kernel, arguments, grid, 128, results, torch.float32, 16 * ROUNDING[dtype])


FAMILIES: dict[str, list[tuple[str, Callable[[str], Run]]]] = {
    "torch": [
        (r"grouped_mm_\w+?_mpp_", grouped_mm),
        (r"int_mm_mpp_", int_mm),
        (r"scaled_mm_mpp_", scaled_mm),
        (r"prefill_attention_mpp_", prefill_attention),
        (r"conv3d_mpp_", conv3d),
        (r"conv1d_mpp_", conv1d),
        (r"applySYRKTrailing", syrk_trailing),
        (r"gemmLU_", gemm_lu),
        (r"triangular_solve_small_mpp_", triangular_solve),
    ],
    "mtlattn": [
        (r"attn_mpp_(1tile|flash)", attention_tile),
        # Not attn_mpp_coop_half: it takes an element's column for its row.
        (r"attn_mpp_varlen_", attention_varlen),
        (r"attn_mpp_split_", attention_split),
        (r"attn_mpp_combine_", attention_combine),
        (r"attn_mpp_bwd_", attention_backward),
    ],
}

# Kernels that need a function constant, which torch.mps.load_metallib cannot give.
WITH_CONSTANTS = r"attn_mpp_(varlen|bwd)_"


def runs(wheel: str, names: Iterable[str]) -> Iterator[Callable[[], Run]]:
    """Runs of those of a library's kernels that this module knows; each is made when it is called."""
    for name in sorted(names):
        for pattern, make in FAMILIES[wheel]:
            if re.match(pattern, name) and not re.match(WITH_CONSTANTS, name):
                yield lambda make=make, name=name: make(name)


def error(run: Run, library: object) -> float:
    """Dispatches on the device; returns how far the worst result is from the reference beside one rounding, NaN where it is NaN."""
    kernel = getattr(library, run.kernel)
    # Buffers that the kernel has not are bound too: arguments are counted from 0.
    arguments = [(torch.zeros(1) if argument is None else argument).to("mps") for argument in run.arguments]
    size = run.threads or kernel.max_threads_per_threadgroup
    x, y, z = run.groups
    kernel(*arguments, threads=(x * size, y, z), group_size=(size, 1, 1))
    worst = 0.0
    for index, expected in run.expected.items():
        result = arguments[index].cpu()
        result = result.view(run.dtype) if run.dtype == torch.float8_e4m3fn else result
        reference = expected.double()
        beyond = (result.double() - reference).abs() - 1.01 * ROUNDING[run.dtype] * reference.abs()
        worst = max(worst, float(beyond.max())) if not beyond.isnan().any() else math.nan
    return worst


def main(arguments: list[str]) -> int:
    """Runs the kernels whose names contain one of ``arguments``, all without one; prints the worst of each family."""
    from conformance import wheels

    torch.manual_seed(seed := torch.seed() % 2**32)
    print("seed", seed)
    worst: dict[str, tuple[int, float]] = {}
    failures = 0
    for wheel, short in (("mtlattn", "mtlattn-mpp"), ("torch", "1")):
        library = torch.mps.load_metallib(wheels.library(short))
        names = [name for name in dir(library) if not arguments or any(argument in name for argument in arguments)]
        for make in runs(wheel, names):
            run = make()
            beyond = error(run, library)
            count, before = worst.get(run.family, (0, 0.0))
            worst[run.family] = (count + 1, max(before, beyond))
            if not beyond <= run.tolerance:
                failures += 1
                print(f"{run.kernel}: off by {beyond:.3g}, at most {run.tolerance:.3g}")
    for family, (count, beyond) in worst.items():
        print(f"{count:4} {family}: {beyond:.3g} beside one rounding")
    print(sum(count for count, _ in worst.values()), "kernels,", failures, "wrong")
    return int(failures > 0)


if __name__ == "__main__":
    import openmps  # noqa: F401, registers the device

    sys.exit(main(sys.argv[1:]))
