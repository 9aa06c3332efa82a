"""Kernels whose threads meet: rows by SIMD-group and by threadgroup, reductions, scans, sorting, histograms, bare barriers.

PoCL 3.1 has no sub-groups. There a kernel that works by SIMD-groups is written as one does without: threads meet through local memory.
"""

from collections.abc import Iterator

import torch
from torch.nn import functional

from kernels.case import Case, parameters

GROUP = 256
LANES = 32

_C_SOFTMAX = """
    for (long row = begin; row < end; row++) {
        const float* restrict a = x + row * n; float* restrict b = y + row * n; float most = -3e38f, sum = 0;
        #pragma omp simd reduction(max:most)
        for (uint i = 0; i < n; i++) most = a[i] > most ? a[i] : most;
        #pragma omp simd reduction(+:sum)
        for (uint i = 0; i < n; i++) sum += b[i] = expf(a[i] - most);
        float scale = 1.0f / sum;
        #pragma omp simd
        for (uint i = 0; i < n; i++) b[i] *= scale;
    }"""


_SOFTMAX_BY_THREADGROUP = """LOCAL(float, part, 256); float most = -INFINITY, sum = 0;
        for (uint i = lid; i < n; i += 256) most = max(most, x[group * n + i]);
        part[lid] = most; BARRIER;
        for (uint w = 128; w > 0; w /= 2) { if (lid < w) part[lid] = max(part[lid], part[lid + w]); BARRIER; }
        most = part[0]; BARRIER;
        for (uint i = lid; i < n; i += 256) { float e = exp(x[group * n + i] - most); y[group * n + i] = e; sum += e; }
        part[lid] = sum; BARRIER;
        for (uint w = 128; w > 0; w /= 2) { if (lid < w) part[lid] += part[lid + w]; BARRIER; }
        float scale = 1.0f / part[0];
        for (uint i = lid; i < n; i += 256) y[group * n + i] *= scale;"""


def _softmax(name: str, body: str, positions: str, x: torch.Tensor, threads: int) -> Case:
    rows, n = x.shape
    return Case(
        name, parameters("out float y, in float x, value uint n"), positions, body,
        [torch.zeros(rows, n), x, n], (threads,), (GROUP,), units=rows, c=_C_SOFTMAX,
        aten=lambda: functional.softmax(x, 1), bytes=8 * rows * n, tolerance=1e-5,
        opencl_body=_SOFTMAX_BY_THREADGROUP, opencl_positions="lid group", opencl_launch=((rows * GROUP,), (GROUP,)),
    )


def _softmax_by_simdgroup(rows: int, n: int) -> Case:
    body = """uint row = gid / 32; float most = -INFINITY, sum = 0;
        for (uint i = lane; i < n; i += 32) most = max(most, x[row * n + i]);
        most = simd_max(most);
        for (uint i = lane; i < n; i += 32) { float e = exp(x[row * n + i] - most); y[row * n + i] = e; sum += e; }
        float scale = 1.0f / simd_sum(sum);
        for (uint i = lane; i < n; i += 32) y[row * n + i] *= scale;"""
    return _softmax("softmax_simdgroup", body, "gid lane", torch.randn(rows, n), rows * LANES)


def _softmax_by_threadgroup(rows: int, n: int) -> Case:
    return _softmax("softmax_threadgroup", _SOFTMAX_BY_THREADGROUP, "lid group", torch.randn(rows, n), rows * GROUP)


def _layer_norm(rows: int, n: int) -> Case:
    x, weight, bias = torch.randn(rows, n), torch.rand(n), torch.rand(n)
    body = """threadgroup float sums[8], squares[8]; float sum = 0, square = 0;
        for (uint i = lid; i < n; i += 256) { float v = x[group * n + i]; sum += v; square += v * v; }
        sum = simd_sum(sum); square = simd_sum(square);
        if (lane == 0) { sums[simdgroup] = sum; squares[simdgroup] = square; }
        BARRIER;
        sum = simd_sum(lane < 8 ? sums[lane] : 0.0f); square = simd_sum(lane < 8 ? squares[lane] : 0.0f);
        float mean = sum / n, scale = rsqrt(square / n - mean * mean + 1e-5f);
        for (uint i = lid; i < n; i += 256) y[group * n + i] = (x[group * n + i] - mean) * scale * w[i] + b[i];"""
    return Case(
        "layer_norm", parameters("out float y, in float x, in float w, in float b, value uint n"), "lid group lane simdgroup", body,
        [torch.zeros(rows, n), x, weight, bias, n], (rows * GROUP,), (GROUP,), units=rows,
        c="""for (long row = begin; row < end; row++) {
            const float* restrict a = x + row * n; float sum = 0, square = 0;
            #pragma omp simd reduction(+:sum, square)
            for (uint i = 0; i < n; i++) { sum += a[i]; square += a[i] * a[i]; }
            float mean = sum / n, scale = 1.0f / sqrtf(square / n - mean * mean + 1e-5f);
            for (uint i = 0; i < n; i++) y[row * n + i] = (a[i] - mean) * scale * w[i] + b[i];
        }""",
        aten=lambda: functional.layer_norm(x, (n,), weight, bias), bytes=8 * rows * n,
        opencl_positions="lid group",
        opencl_body="""LOCAL(float, sums, 256); LOCAL(float, squares, 256); float sum = 0, square = 0;
        for (uint i = lid; i < n; i += 256) { float v = x[group * n + i]; sum += v; square += v * v; }
        sums[lid] = sum; squares[lid] = square; BARRIER;
        for (uint i = 128; i > 0; i /= 2) { if (lid < i) { sums[lid] += sums[lid + i]; squares[lid] += squares[lid + i]; } BARRIER; }
        float mean = sums[0] / n, scale = rsqrt(squares[0] / n - mean * mean + 1e-5f);
        for (uint i = lid; i < n; i += 256) y[group * n + i] = (x[group * n + i] - mean) * scale * w[i] + b[i];""",
    )


_TREE_REDUCTION = """LOCAL(float, part, 256); part[lid] = x[gid]; BARRIER;
        for (uint w = 128; w > 0; w /= 2) { if (lid < w) part[lid] += part[lid + w]; BARRIER; }
        if (lid == 0) y[group] = part[0];"""


def _tree_reduction(groups: int) -> Case:
    x = torch.rand(groups, GROUP)
    out = torch.empty(groups)
    return Case(
        "tree_reduction", parameters("out float y, in float x"), "gid lid group",
        _TREE_REDUCTION,
        [torch.zeros(groups), x], (groups * GROUP,), (GROUP,), units=groups,
        c="""for (long g = begin; g < end; g++) {
            float sum = 0;
            #pragma omp simd reduction(+:sum)
            for (long i = 0; i < 256; i++) sum += x[256 * g + i];
            y[g] = sum;
        }""",
        aten=lambda: torch.sum(x, 1, out=out), bytes=4 * groups * GROUP,
    )


def _simd_reduction(groups: int) -> Case:
    x = torch.rand(groups, GROUP)
    out = torch.empty(groups)
    return Case(
        "simd_reduction", parameters("out float y, in float x"), "gid lid group lane simdgroup",
        """threadgroup float part[8]; float sum = simd_sum(x[gid]);
        if (lane == 0) part[simdgroup] = sum;
        BARRIER;
        if (simdgroup == 0) { sum = simd_sum(lane < 8 ? part[lane] : 0.0f); if (lid == 0) y[group] = sum; }""",
        [torch.zeros(groups), x], (groups * GROUP,), (GROUP,), units=groups, c=_tree_reduction(1).c,
        aten=lambda: torch.sum(x, 1, out=out), bytes=4 * groups * GROUP,
        opencl_body=_TREE_REDUCTION, opencl_positions="gid lid group",
    )


def _scan(groups: int) -> Case:
    x = torch.rand(groups, GROUP)
    out = torch.empty(groups, GROUP)
    return Case(
        "scan", parameters("out float y, in float x"), "gid lane simdgroup",
        """threadgroup float ends[8]; float sum = simd_prefix_inclusive_sum(x[gid]);
        if (lane == 31) ends[simdgroup] = sum;
        BARRIER;
        for (uint i = 0; i < simdgroup; i++) sum += ends[i];
        y[gid] = sum;""",
        [torch.zeros(groups, GROUP), x], (groups * GROUP,), (GROUP,), units=groups,
        c="for (long g = begin; g < end; g++) { float sum = 0; for (long i = 0; i < 256; i++) y[256 * g + i] = sum += x[256 * g + i]; }",
        aten=lambda: torch.cumsum(x, 1, out=out), bytes=8 * groups * GROUP,
        opencl_positions="gid lid",
        opencl_body="""LOCAL(float, part, 256); float sum = x[gid]; part[lid] = sum; BARRIER;
        for (uint w = 1; w < 256; w *= 2) { if (lid >= w) sum += part[lid - w]; BARRIER; part[lid] = sum; BARRIER; }
        y[gid] = sum;""",
    )


def _bitonic_sort(groups: int) -> Case:
    x = torch.rand(groups, 2 * GROUP)
    network = """for (uint k = 2; k <= 512; k *= 2) for (uint j = k / 2; j > 0; j /= 2) {{
            {each} {{
                uint low = 2 * j * (t / j) + t % j, high = low + j;
                float a = v[low], b = v[high];
                bool up = (low & k) == 0;
                v[low] = (a < b) == up ? a : b; v[high] = (a < b) == up ? b : a;
            }}
            {barrier}
        }}"""
    return Case(
        "bitonic_sort", parameters("out float y, in float x"), "lid group",
        "LOCAL(float, v, 512); v[lid] = x[group * 512 + lid]; v[lid + 256] = x[group * 512 + 256 + lid]; BARRIER;\n"
        + network.format(each="uint t = lid;", barrier="BARRIER;")
        + "y[group * 512 + lid] = v[lid]; y[group * 512 + 256 + lid] = v[lid + 256];",
        [torch.zeros(groups, 512), x], (groups * GROUP,), (GROUP,), units=groups,
        c_prelude="#include <stdbool.h>",
        c="for (long g = begin; g < end; g++) { float* restrict v = y + 512 * g; for (int i = 0; i < 512; i++) v[i] = x[512 * g + i];\n"
        + network.format(each="for (uint t = 0; t < 256; t++)", barrier="")
        + "}",
        aten=lambda: torch.sort(x, 1), tolerance=0.0, note="ATen's op gives indices, too",
    )


def _histogram(groups: int) -> Case:
    count = groups * GROUP * 16
    x = torch.randint(256, (count,), dtype=torch.int32)
    return Case(
        "histogram", parameters("counters uint y, in int x, value uint n"), "gid lid",
        """LOCAL_COUNTERS(bins, 256); RESET(&bins[lid]); BARRIER;
        for (uint i = gid; i < n; i += n / 16) COUNT(&bins[x[i]], 1u);
        BARRIER; COUNT(&y[lid], COUNTED(&bins[lid]));""",
        [torch.zeros(256, dtype=torch.int32), x, count], (groups * GROUP,), (GROUP,), units=1,
        c="for (uint i = 0; i < n; i++) y[x[i]]++;",
        aten=lambda: torch.bincount(x, minlength=256), bytes=4 * count, tolerance=0.0,
    )


def _barriers(groups: int) -> Case:
    return Case(
        "barriers", parameters("out uint y, value uint turns"), "gid lid",
        """LOCAL(uint, v, 256); uint sum = lid; v[lid] = lid; BARRIER;
        for (uint i = 0; i < turns; i++) { sum += v[lid]; BARRIER; }
        y[gid] = sum;""",
        [torch.zeros(groups * GROUP, dtype=torch.int32), 64], (groups * GROUP,), (GROUP,),
        expected=lambda: (torch.arange(GROUP, dtype=torch.int32) * 65).repeat(groups), tolerance=0.0,
        note="64 barriers in 256 threads",
    )


def cases(scale: int) -> Iterator[Case]:
    """Sizes grow with `scale`."""
    yield _softmax_by_simdgroup(256 * scale, 1000)
    yield _softmax_by_threadgroup(256 * scale, 1000)
    yield _layer_norm(256 * scale, 1000)
    yield _tree_reduction(512 * scale)
    yield _simd_reduction(512 * scale)
    yield _scan(512 * scale)
    yield _bitonic_sort(64 * scale)
    yield _histogram(32 * scale)
    yield _barriers(64 * scale)
