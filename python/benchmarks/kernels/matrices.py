"""Transposes, matrix products, attention, convolution."""

import math
from collections.abc import Iterator

import torch
from torch.nn import functional

from kernels.case import Case, parameters


def _transpose(name: str, body: str, positions: str, side: int, group: tuple[int, int], rows_per_thread: int) -> Case:
    x = torch.rand(side, side)
    out = torch.empty(side, side)
    return Case(
        name, parameters("out float y, in float x, value uint n"), positions, body,
        [torch.zeros(side, side), x, side], (side, side // rows_per_thread), group, units=side // 32,
        c="""for (long tile = begin; tile < end; tile++) for (uint column = 0; column < n; column += 32)
            for (uint i = 32 * tile; i < 32 * tile + 32; i++) for (uint j = column; j < column + 32; j++) y[j * n + i] = x[i * n + j];""",
        aten=lambda: out.copy_(x.t()), bytes=8 * side * side, tolerance=0.0,
    )


def _transposes(side: int) -> Iterator[Case]:
    yield _transpose("transpose", "y[at.x * n + at.y] = x[at.y * n + at.x];", "at", side, (32, 8), 1)
    tiled = """LOCAL(float, t, 32 * 33);
        for (uint i = 0; i < 32; i += 8) t[(place.y + i) * 33 + place.x] = x[(tile.y * 32 + place.y + i) * n + tile.x * 32 + place.x];
        BARRIER;
        for (uint i = 0; i < 32; i += 8) y[(tile.x * 32 + place.y + i) * n + tile.y * 32 + place.x] = t[place.x * 33 + place.y + i];"""
    yield _transpose("transpose_tiled", tiled, "place tile", side, (32, 8), 4)


_C_PRODUCT = """
    for (long i = begin; i < end; i++) {
        float* restrict row = y + i * n;
        for (uint j = 0; j < n; j++) row[j] = 0;
        for (uint k = 0; k < n; k++) for (uint j = 0; j < n; j++) row[j] += WIDEN(a[i * n + k]) * WIDEN(b[k * n + j]);
    }"""

# Factors through threadgroup memory, a sum a thread; what stands in OpenCL C for matrices of SIMD-groups, too, since PoCL has none
# (64x64 sums a group of threads, 4x4 a thread, take it a fifth longer).
_TILED_PRODUCT = """LOCAL(float, s, 16 * 16); LOCAL(float, t, 16 * 16); float sum = 0; uint p = place.y * 16 + place.x;
        for (uint k = 0; k < n; k += 16) {
            s[p] = WIDEN(a[at.y * n + k + place.x]); t[p] = WIDEN(b[(k + place.y) * n + at.x]); BARRIER;
            for (uint i = 0; i < 16; i++) sum = fma(s[place.y * 16 + i], t[i * 16 + place.x], sum);
            BARRIER;
        }
        y[at.y * n + at.x] = sum;"""

# A SIMD-group for a block of BLOCK x BLOCK matrices of 8x8.
_SIMDGROUP_PRODUCT = """
        uint row = tile.y * 8 * BLOCK, column = tile.x * 8 * BLOCK;
        simdgroup_matrix<float, 8, 8> sums[BLOCK][BLOCK];
        for (uint i = 0; i < BLOCK; i++) for (uint j = 0; j < BLOCK; j++) sums[i][j] = simdgroup_matrix<float, 8, 8>(0.0f);
        for (uint k = 0; k < n; k += 8) {
            simdgroup_matrix<TYPE, 8, 8> left[BLOCK], right[BLOCK];
            for (uint i = 0; i < BLOCK; i++) simdgroup_load(left[i], a + (row + 8 * i) * n + k, n);
            for (uint j = 0; j < BLOCK; j++) simdgroup_load(right[j], b + k * n + column + 8 * j, n);
            for (uint i = 0; i < BLOCK; i++) for (uint j = 0; j < BLOCK; j++)
                simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
        }
        for (uint i = 0; i < BLOCK; i++) for (uint j = 0; j < BLOCK; j++)
            simdgroup_store(sums[i][j], y + (row + 8 * i) * n + column + 8 * j, n);"""


def _products(side: int) -> Iterator[Case]:
    a, b = torch.randn(side, side), torch.randn(side, side)
    out = torch.empty(side, side)

    def product(name: str, body: str, positions: str, threads: tuple, group: tuple, **opencl) -> Case:
        return Case(
            name, parameters("out float y, in float a, in float b, value uint n"), positions, body,
            [torch.zeros(side, side), a, b, side], threads, group, units=side, c=_C_PRODUCT,
            aten=lambda: torch.mm(a, b, out=out), flops=2 * side**3, tolerance=1e-3, **opencl,
        )

    naive = "float sum = 0; for (uint k = 0; k < n; k++) sum = fma(a[at.y * n + k], b[k * n + at.x], sum); y[at.y * n + at.x] = sum;"
    yield product("matmul", naive, "at", (side, side), (32, 8))
    yield product("matmul_tiled", _TILED_PRODUCT, "at place", (side, side), (16, 16))
    by_threads = {"opencl_body": _TILED_PRODUCT, "opencl_positions": "at place", "opencl_launch": ((side, side), (16, 16))}
    for name, block in [("matmul_simdgroup", 4), ("matmul_simdgroup_64", 8)]:
        text = _SIMDGROUP_PRODUCT.replace("TYPE", "float").replace("BLOCK", str(block))
        yield product(name, text, "tile", (32 * side // (8 * block), side // (8 * block)), (32, 1), **by_threads)

    text = _SIMDGROUP_PRODUCT.replace("TYPE", "bfloat").replace("BLOCK", "8")
    narrow, other = a.bfloat16(), b.bfloat16()
    yield Case(
        "matmul_simdgroup_bf16", parameters("out float y, in bfloat a, in bfloat b, value uint n"), "tile",
        text, [torch.zeros(side, side), narrow, other, side], (side // 2, side // 64), (32, 1),
        units=side, c=_C_PRODUCT, aten=lambda: torch.mm(narrow, other), expected=lambda: narrow.float() @ other.float(),
        flops=2 * side**3, tolerance=1e-3, **by_threads,
    )


# Without SIMD-groups: a group of 32 threads a query, as in Metal, which add up in local memory. (A thread a query, which is not how a GPU is kept
# busy, suits PoCL better: it takes a seventh of the time.)
_ATTENTION_BY_TREES = """LOCAL(float, part, 32); uint keys = group / length * length; float scale = 0.125f;
        float q0 = q[group * 64 + lid] * scale, q1 = q[group * 64 + lid + 32] * scale, most = -INFINITY, sum = 0, o0 = 0, o1 = 0;
        for (uint i = keys; i < keys + length; i++) {
            part[lid] = q0 * k[i * 64 + lid] + q1 * k[i * 64 + lid + 32]; BARRIER;
            for (uint w = 16; w > 0; w /= 2) { if (lid < w) part[lid] += part[lid + w]; BARRIER; }
            float score = part[0]; BARRIER;
            float larger = max(most, score), keep = exp(most - larger), add = exp(score - larger);
            most = larger; sum = sum * keep + add;
            o0 = o0 * keep + add * v[i * 64 + lid]; o1 = o1 * keep + add * v[i * 64 + lid + 32];
        }
        y[group * 64 + lid] = o0 / sum; y[group * 64 + lid + 32] = o1 / sum;"""


def _attention(heads: int, length: int) -> Case:
    width = 64
    q, k, v = (torch.randn(1, heads, length, width) for _ in range(3))
    return Case(
        "attention", parameters("out float y, in float q, in float k, in float v, value uint length"), "gid lane",
        """uint query = gid / 32, keys = query / length * length; float scale = 0.125f;
        float q0 = q[query * 64 + lane] * scale, q1 = q[query * 64 + lane + 32] * scale, most = -INFINITY, sum = 0, o0 = 0, o1 = 0;
        for (uint i = keys; i < keys + length; i++) {
            float score = simd_sum(q0 * k[i * 64 + lane] + q1 * k[i * 64 + lane + 32]);
            float larger = max(most, score), keep = exp(most - larger), add = exp(score - larger);
            most = larger; sum = sum * keep + add;
            o0 = o0 * keep + add * v[i * 64 + lane]; o1 = o1 * keep + add * v[i * 64 + lane + 32];
        }
        y[query * 64 + lane] = o0 / sum; y[query * 64 + lane + 32] = o1 / sum;""",
        [torch.zeros(heads * length, width), q, k, v, length], (heads * length * 32,), (256,), units=heads * length,
        c="""for (long query = begin; query < end; query++) {
            float scores[4096], most = -3e38f, sum = 0, o[64] = {0}; long keys = query / length * length;
            for (uint i = 0; i < length; i++) {
                float score = 0;
                #pragma omp simd reduction(+:score)
                for (int d = 0; d < 64; d++) score += q[query * 64 + d] * k[(keys + i) * 64 + d];
                scores[i] = score * 0.125f; most = scores[i] > most ? scores[i] : most;
            }
            #pragma omp simd reduction(+:sum)
            for (uint i = 0; i < length; i++) sum += scores[i] = expf(scores[i] - most);
            for (uint i = 0; i < length; i++) for (int d = 0; d < 64; d++) o[d] += scores[i] * v[(keys + i) * 64 + d];
            for (int d = 0; d < 64; d++) y[query * 64 + d] = o[d] / sum;
        }""",
        aten=lambda: functional.scaled_dot_product_attention(q, k, v),
        opencl_body=_ATTENTION_BY_TREES, opencl_positions="lid group", opencl_launch=((heads * length * 32,), (32,)),
        flops=4 * heads * length * length * width, tolerance=1e-4,
    )


def _convolution(channels: int, side: int) -> Case:
    x, weight = torch.randn(1, channels, side + 2, side + 2), torch.randn(channels, channels, 3, 3) / math.sqrt(9 * channels)
    loops = """for (uint i = 0; i < channels; i++) for (uint dy = 0; dy < 3; dy++) for (uint dx = 0; dx < 3; dx++)"""
    return Case(
        "conv_3x3", parameters("out float y, in float x, in float w, value uint channels, value uint side"), "at",
        "uint out = at.y / side, row = at.y % side; float sum = 0;\n"
        + loops
        + """ sum = fma(w[((out * channels + i) * 3 + dy) * 3 + dx], x[(i * (side + 2) + row + dy) * (side + 2) + at.x + dx], sum);
        y[at.y * side + at.x] = sum;""",
        [torch.zeros(channels * side * side), x, weight, channels, side], (side, channels * side), (32, 8), units=channels,
        c="""for (uint out = begin; out < end; out++) for (uint row = 0; row < side; row++) {
            float* restrict target = y + (out * side + row) * side;
            for (uint c = 0; c < side; c++) target[c] = 0;
            """
        + loops
        + """ {
                float f = w[((out * channels + i) * 3 + dy) * 3 + dx]; const float* restrict from = x + (i * (side + 2) + row + dy) * (side + 2) + dx;
                for (uint c = 0; c < side; c++) target[c] += f * from[c];
            }
        }""",
        aten=lambda: functional.conv2d(x, weight), flops=18 * channels * channels * side * side, tolerance=1e-3,
    )


def cases(scale: int) -> Iterator[Case]:
    """Sizes grow with `scale`."""
    yield from _transposes(512 * scale)
    yield from _products(128 * scale)
    yield _attention(2, 64 * scale)
    yield _convolution(16, 32 * scale)
