"""Kernels whose threads do not meet: arithmetic, strides, branches, loops."""

from collections.abc import Iterator

import torch
from torch.nn import functional

from kernels.case import Case, parameters

GROUP = (256,)


def _triad(count: int) -> Case:
    a, b = torch.rand(count), torch.rand(count)
    out = torch.empty(count)
    return Case(
        "triad", parameters("out float y, in float a, in float b, value float s"), "gid", "y[gid] = a[gid] + s * b[gid];",
        [torch.zeros(count), a, b, 0.5], (count,), GROUP, units=count,
        c="for (long i = begin; i < end; i++) y[i] = a[i] + s * b[i];",
        aten=lambda: torch.add(a, b, alpha=0.5, out=out), bytes=12 * count, flops=2 * count,
    )


def _four_per_thread(count: int) -> Case:
    x = torch.rand(count)
    out = torch.empty(count)
    return Case(
        "four_per_thread", parameters("out float y, in float x"), "gid",
        "for (uint i = 0; i < 4; i++) y[gid * 4 + i] = x[gid * 4 + i] * x[gid * 4 + i] + 1.0f;",
        [torch.zeros(count), x], (count // 4,), GROUP, units=count,
        c="for (long i = begin; i < end; i++) y[i] = x[i] * x[i] + 1.0f;",
        aten=lambda: torch.addcmul(torch.ones(()), x, x, out=out), bytes=8 * count, flops=2 * count,
    )


def _gelu(count: int) -> Case:
    x = torch.randn(count)
    return Case(
        "gelu", parameters("out float y, in float x"), "gid",
        "float v = x[gid]; y[gid] = 0.5f * v * (1.0f + tanh(0.7978845608f * (v + 0.044715f * v * v * v)));",
        [torch.zeros(count), x], (count,), GROUP, units=count,
        c="""#pragma omp simd
        for (long i = begin; i < end; i++) {
            float v = x[i];
            y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
        }""",
        aten=lambda: functional.gelu(x, approximate="tanh"), bytes=8 * count,
    )


def _gelu_erf(count: int) -> Case:
    x = torch.randn(count)
    # The error function by polynomials, one near zero and one farther out, as kernels of libraries compute it.
    error = """{
            float u = v * 0.70710678f, t = ABSOLUTE(u), s = u * u;
            float r = FMA(-1.72853470e-5f, t, 3.83197126e-4f);
            r = FMA(r, s, FMA(-3.88396438e-3f, t, 2.42546219e-2f));
            r = FMA(FMA(FMA(r, t, -1.06777877e-1f), t, -6.34846687e-1f), t, -1.28717512e-1f);
            r = COPY_SIGN(1.0f - EXP(FMA(r, t, -t)), u);
            float q = FMA(FMA(FMA(-5.96761703e-4f, s, 4.99119423e-3f), s, -2.67681349e-2f), s, 1.12819925e-1f);
            q = FMA(FMA(FMA(q, s, -3.76125336e-1f), s, 1.28379166e-1f), u, u);
            e = t > 0.927734375f ? r : q;
        }"""
    names = "#define FMA(a, b, c) fma{0}(a, b, c)\n#define ABSOLUTE(a) fabs{0}(a)\n#define COPY_SIGN(a, b) copysign{0}(a, b)\n#define EXP(a) exp{0}(a)\n"
    body = f"float v = x[gid], e;\n{names.format('')} {error} y[gid] = 0.5f * v * (1.0f + e);"
    return Case(
        "gelu_erf", parameters("out float y, in float x"), "gid", body,
        [torch.zeros(count), x], (count,), GROUP, units=count,
        c=f"""{names.format('f')}
        #pragma omp simd
        for (long i = begin; i < end; i++) {{ float v = x[i], e; {error} y[i] = 0.5f * v * (1.0f + e); }}""",
        aten=lambda: functional.gelu(x), bytes=8 * count,
    )


def _strided(sizes: tuple[int, int, int]) -> Case:
    count = sizes[0] * sizes[1] * sizes[2]
    x = torch.rand(count)
    view = x.view(sizes[::-1]).permute(2, 1, 0)
    # Sizes and strides of the output's dimensions, innermost first.
    shape = torch.tensor([*reversed(view.shape), *reversed(view.stride())], dtype=torch.int32)
    out = torch.empty(view.shape)
    body = """uint i = {i}; uint from = 0;
        for (uint d = 0; d < 3; d++) {{ uint q = i / shape[d]; from += (i - q * shape[d]) * shape[3 + d]; i = q; }}
        y[{i}] = x[from] + 1.0f;"""
    return Case(
        "strided", parameters("out float y, in float x, in uint shape"), "gid", body.format(i="gid"),
        [torch.zeros(count), x, shape], (count,), GROUP, units=count,
        c="for (long t = begin; t < end; t++) {" + body.format(i="t") + "}",
        aten=lambda: torch.add(view, 1.0, out=out), bytes=8 * count,
    )


def _divergent(count: int) -> Case:
    x, table = torch.randn(count), torch.rand(64)
    return Case(
        "loop_in_branch", parameters("out float y, in float x, in float table, value uint turns"), "gid",
        "float v = x[gid], r = 0; if (v > 0.0f) for (uint j = 0; j < turns; j++) r = fma(r, v, table[j]); y[gid] = r;",
        [torch.zeros(count), x * 0.5, table, 64], (count,), GROUP, units=count,
        c="""for (long i = begin; i < end; i++) {
            float v = x[i], r = 0;
            if (v > 0.0f) for (uint j = 0; j < turns; j++) r = fmaf(r, v, table[j]);
            y[i] = r;
        }""",
        flops=count * 64, tolerance=1e-3,
    )


def _mandelbrot(side: int) -> Case:
    body = """float cx = -2.0f + {x} * step, cy = -1.25f + {y} * step, zx = 0, zy = 0; uint n = 0;
        while (n < limit && zx * zx + zy * zy < 4.0f) {{ float t = zx * zx - zy * zy + cx; zy = 2.0f * zx * zy + cy; zx = t; n++; }}
        out[{y} * side + {x}] = n;"""
    return Case(
        "mandelbrot", parameters("out uint out, value uint side, value uint limit, value float step"), "at",
        body.format(x="at.x", y="at.y"),
        [torch.zeros(side * side, dtype=torch.int32), side, 256, 2.5 / side], (side, side), (32, 8), units=side,
        c="for (uint y = begin; y < end; y++) for (uint x = 0; x < side; x++) {" + body.format(x="x", y="y") + "}",
        # Fused or not, points at the border escape a turn earlier or later.
        tolerance=0.05,
    )


def _n_body(count: int) -> Case:
    bodies = torch.rand(4, count)
    body = """float px = b[{i}], py = b[n + {i}], pz = b[2 * n + {i}], ax = 0, ay = 0, az = 0;
        {simd}
        for (uint j = 0; j < n; j++) {{
            float dx = b[j] - px, dy = b[n + j] - py, dz = b[2 * n + j] - pz;
            float d = {fma}(dx, dx, {fma}(dy, dy, {fma}(dz, dz, 1e-3f)));
            float f = 1.0f / {sqrt}(d); f = b[3 * n + j] * f * f * f;
            ax += f * dx; ay += f * dy; az += f * dz;
        }}
        out[{i}] = ax; out[n + {i}] = ay; out[2 * n + {i}] = az;"""
    simd = "\n#pragma omp simd reduction(+:ax,ay,az)\n"
    return Case(
        "n_body", parameters("out float out, in float b, value uint n"), "gid", body.format(i="gid", simd="", fma="fma", sqrt="sqrt"),
        [torch.zeros(3 * count), bodies, count], (count,), GROUP, units=count,
        c="for (long i = begin; i < end; i++) {" + body.format(i="i", simd=simd, fma="fmaf", sqrt="sqrtf") + "}",
        flops=20 * count * count, tolerance=2e-3,
    )


_PHILOX = """
        uint c0 = {i}, c1 = 0, c2 = seed, c3 = 0, k0 = seed, k1 = 0x1234567;
        for (uint round = 0; round < 10; round++) {{
            uint h0 = HIGH_PRODUCT(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = HIGH_PRODUCT(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
            c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
            k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
        }}
        out[4 * {i}] = AS_FLOAT(c0 >> 8) * 5.9604645e-8f; out[4 * {i} + 1] = AS_FLOAT(c1 >> 8) * 5.9604645e-8f;
        out[4 * {i} + 2] = AS_FLOAT(c2 >> 8) * 5.9604645e-8f; out[4 * {i} + 3] = AS_FLOAT(c3 >> 8) * 5.9604645e-8f;"""


def _philox(count: int) -> Case:
    out = torch.empty(count)
    return Case(
        "philox", parameters("out float out, value uint seed"), "gid", _PHILOX.format(i="gid"),
        [torch.zeros(count), 7], (count // 4,), GROUP, units=count // 4,
        c_prelude="""#define HIGH_PRODUCT(a, b) (uint)((uint64_t)(a) * (b) >> 32)
        #define AS_FLOAT(a) (float)(a)""",
        c="for (uint i = begin; i < end; i++) {" + _PHILOX.format(i="i") + "}",
        aten=lambda: out.uniform_(), bytes=4 * count, tolerance=0.0,
    )


def cases(scale: int) -> Iterator[Case]:
    """Sizes grow with `scale`."""
    yield _triad(scale << 22)
    yield _four_per_thread(scale << 18)
    yield _gelu(scale << 18)
    yield _gelu_erf(scale << 18)
    yield _strided((64 * scale, 64, 48))
    yield _divergent(scale << 15)
    yield _mandelbrot(128 * scale)
    yield _n_body(512 * scale)
    yield _philox(scale << 18)
