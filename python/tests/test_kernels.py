"""Kernels on random input against references in torch: memory, barriers, SIMD-groups, atomics, templates, torch's headers."""

import random

import pytest
import torch


def _ints(n, low=-1000, high=1000):
    return torch.randint(low, high, (n,), dtype=torch.int32)


def test_arithmetic_of_every_type():
    types = {"float": torch.float32, "half": torch.float16, "int": torch.int32, "short": torch.int16, "char": torch.int8,
             "uchar": torch.uint8, "long": torch.int64}  # fmt: skip
    source = "".join(
        f"kernel void k_{name}(device {name}* o, device const {name}* a, device const {name}* b, uint i [[thread_position_in_grid]])"
        f" {{ o[i] = a[i] * b[i] + a[i]; }}\n"
        for name in types
    )
    lib = torch.mps.compile_shader(source)
    for name, dtype in types.items():
        a, b = _ints(999, 0, 10).to(dtype), _ints(999, 0, 10).to(dtype)
        out = torch.zeros(999, dtype=dtype, device="mps")
        getattr(lib, f"k_{name}")(out, a.to("mps"), b.to("mps"))
        assert torch.equal(out.cpu(), a * b + a), name


def test_control_flow_diverges():
    lib = torch.mps.compile_shader("""
        kernel void collatz(device int* steps, device const int* start, uint i [[thread_position_in_grid]]) {
            int n = start[i], count = 0;
            while (n != 1) {
                if (n % 2 == 0) n /= 2; else n = 3 * n + 1;
                if (++count > 500) break;
            }
            steps[i] = count;
        }
    """)
    start = torch.randint(1, 10000, (777,), dtype=torch.int32)

    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    out = torch.zeros_like(start, device="mps")
    lib.collatz(out, start.to("mps"))
    assert out.tolist() == [steps(n) for n in start.tolist()]


def test_vectors_and_matrices():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void v(device float4* out, device const float4* a, device const float4* b, uint i [[thread_position_in_grid]]) {
            float4 c = cross(a[i].xyz, b[i].xyz).xyzz;
            c.w = dot(a[i], b[i]);
            out[i] = select(c, -c, a[i] > b[i]).wzyx;
        }
    """)
    a, b = torch.randn(100, 4), torch.randn(100, 4)
    out = torch.zeros(100, 4, device="mps")
    lib.v(out, a.to("mps"), b.to("mps"), threads=100)
    c = torch.cat([torch.linalg.cross(a[:, :3], b[:, :3]), (a * b).sum(1, keepdim=True)], 1)
    # float32 products and sums of four terms of size about 1.
    torch.testing.assert_close(out.cpu(), torch.where(a > b, -c, c).flip(1), rtol=1e-5, atol=1e-5)


def test_threadgroup_memory_and_barriers():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void reduce(device float* out, device const float* in, uint n [[threads_per_threadgroup]],
                           uint i [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]],
                           uint p [[thread_position_in_grid]]) {
            threadgroup float tile[256];
            tile[i] = in[p];
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint step = 128; step > 0; step /= 2) {
                if (i < step && i + step < n) tile[i] += tile[i + step];
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            if (i == 0) out[g] = tile[0];
        }
    """)
    for n in (256, 1000, random.randrange(1, 5000)):
        x = torch.randint(-100, 100, (n,)).float()  # Sums of small integers are exact.
        groups = -(-n // 256)
        out = torch.zeros(groups, device="mps")
        lib.reduce(out, x.to("mps"), threads=n, group_size=256)
        assert out.tolist() == [part.sum().item() for part in x.split(256)]


def test_barriers_in_loops_of_uniform_length():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void rotate(device int* data, constant int& rounds, uint i [[thread_position_in_threadgroup]],
                           uint n [[threads_per_threadgroup]]) {
            threadgroup int tile[128];
            int value = data[i];
            for (int r = 0; r < rounds; r++) {
                tile[i] = value;
                threadgroup_barrier(mem_flags::mem_threadgroup);
                value = tile[(i + 1) % n] + r;
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            data[i] = value;
        }
    """)
    n, rounds = random.randrange(33, 128), random.randrange(1, 50)
    x = _ints(n)
    device = x.to("mps")
    lib.rotate(device, rounds, threads=n, group_size=n)
    assert torch.equal(device.cpu(), x.roll(-rounds) + sum(range(rounds)))


def test_simd_functions():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void simd(device int* out, device const int* in, uint p [[thread_position_in_grid]],
                         uint n [[threads_per_grid]], uint lane [[thread_index_in_simdgroup]],
                         uint group [[simdgroup_index_in_threadgroup]]) {
            int x = in[p];
            out[p] = simd_sum(x);
            out[n + p] = simd_max(x);
            out[2 * n + p] = simd_shuffle_xor(x, 1);
            out[3 * n + p] = simd_prefix_exclusive_sum(x);
            out[4 * n + p] = simd_broadcast(x, 5);
            out[5 * n + p] = simd_any(x > 900);
            out[6 * n + p] = lane;
            out[7 * n + p] = group;
        }
    """)
    n = 32 * random.randrange(1, 20)
    x = _ints(n)
    out = torch.zeros(8, n, dtype=torch.int32, device="mps")
    lib.simd(out, x.to("mps"), threads=n, group_size=min(n, 256))
    rows = x.view(-1, 32)
    spread = lambda column: column.to(torch.int32).expand(-1, 32).flatten()  # noqa: E731
    expected = torch.stack([
        spread(rows.sum(1, keepdim=True)),
        spread(rows.max(1, keepdim=True).values),
        x.view(-1, 2).flip(1).flatten(),
        (rows.cumsum(1) - rows).flatten().to(torch.int32),
        spread(rows[:, 5:6]),
        spread((rows > 900).any(1, keepdim=True)),
        torch.arange(n, dtype=torch.int32) % 32,
        torch.arange(n, dtype=torch.int32) % 256 // 32,
    ])
    assert torch.equal(out.cpu(), expected)


def test_partial_simdgroups():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void sums(device float* out, device const float* in, uint p [[thread_position_in_grid]]) {
            out[p] = simd_sum(in[p]);
        }
    """)
    n = 300
    x = torch.randint(-50, 50, (n,)).float()
    out = torch.zeros(n, device="mps")
    lib.sums(out, x.to("mps"), group_size=n)
    expected = torch.cat([part.sum().expand(len(part)) for part in x.split(32)])
    assert torch.equal(out.cpu(), expected)


def test_atomics():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void histogram(device atomic_int* counts, device const int* x, device atomic_int* largest,
                              device atomic_uint* tickets, device atomic_float* sum, uint i [[thread_position_in_grid]]) {
            atomic_fetch_add_explicit(&counts[x[i]], 1, memory_order_relaxed);
            atomic_fetch_max_explicit(largest, x[i], memory_order_relaxed);
            uint old = atomic_load_explicit(tickets, memory_order_relaxed);
            while (!atomic_compare_exchange_weak_explicit(tickets, &old, old + 1, memory_order_relaxed, memory_order_relaxed)) {}
            atomic_fetch_add_explicit(sum, float(x[i]), memory_order_relaxed);
        }
    """)
    n = random.randrange(1000, 20000)
    x = _ints(n, 0, 50)
    counts = torch.zeros(50, dtype=torch.int32, device="mps")
    largest = torch.full((1,), -1, dtype=torch.int32, device="mps")
    tickets = torch.zeros(1, dtype=torch.int32, device="mps")
    total = torch.zeros(1, device="mps")
    lib.histogram(counts, x.to("mps"), largest, tickets, total, threads=n)
    assert torch.equal(counts.cpu(), torch.bincount(x, minlength=50).int())
    # Integers below 2^24 add exactly in float32, in any order.
    assert (largest.item(), tickets.item(), total.item()) == (x.max().item(), n, x.sum().item())


def test_threadgroup_atomics():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void count(device int* out, device const int* x, uint p [[thread_position_in_grid]],
                          uint i [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
            threadgroup atomic_int total;
            if (i == 0) atomic_store_explicit(&total, 0, memory_order_relaxed);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            atomic_fetch_add_explicit(&total, x[p], memory_order_relaxed);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (i == 0) out[g] = atomic_load_explicit(&total, memory_order_relaxed);
        }
    """)
    x = _ints(640)
    out = torch.zeros(10, dtype=torch.int32, device="mps")
    lib.count(out, x.to("mps"), threads=640, group_size=64)
    assert torch.equal(out.cpu(), x.view(10, 64).sum(1).int())


def test_shifts_take_their_amount_modulo_the_width():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        template <typename T> kernel void shift(device T* left, device T* right, device const T* x, device const T* by,
                                                uint i [[thread_position_in_grid]]) {
            left[i] = x[i] << by[i];
            right[i] = x[i] >> by[i];
        }
        template [[host_name("int")]] kernel void shift<int>(device int*, device int*, device const int*, device const int*, uint);
        template [[host_name("long")]] kernel void shift<long>(device long*, device long*, device const long*, device const long*, uint);
        template [[host_name("char4")]] kernel void shift<char4>(device char4*, device char4*, device const char4*, device const char4*, uint);
        template [[host_name("short3")]] kernel void shift<packed_short3>(device packed_short3*, device packed_short3*,
                                                                          device const packed_short3*, device const packed_short3*, uint);
        kernel void promoted(device int* out, device const uchar* x, device const char* by, uint i [[thread_position_in_grid]]) {
            out[i] = x[i] << by[i];
        }
        kernel void turns(device uint* out, uint i [[thread_position_in_grid]]) {
            uint bits = 0;
            for (uint turn = 0; turn < 40; ++turn) bits += 1u << turn;
            out[i] = bits;
        }
    """)
    n = 240
    for name, dtype, bits, lanes in [("int", torch.int32, 32, 1), ("long", torch.int64, 64, 1), ("char4", torch.int8, 8, 4), ("short3", torch.int16, 16, 3)]:
        x = torch.randint(torch.iinfo(dtype).min, torch.iinfo(dtype).max, (n,), dtype=dtype)
        by = torch.randint(-128, 128, (n,), dtype=dtype)
        left, right = torch.zeros(n, dtype=dtype, device="mps"), torch.zeros(n, dtype=dtype, device="mps")
        getattr(lib, name)(left, right, x.to("mps"), by.to("mps"), threads=n // lanes)
        assert torch.equal(left.cpu(), x << (by & bits - 1)) and torch.equal(right.cpu(), x >> (by & bits - 1))
    x, by = torch.randint(0, 256, (n,), dtype=torch.uint8), torch.randint(-128, 128, (n,), dtype=torch.int8)
    out = torch.zeros(n, dtype=torch.int32, device="mps")
    lib.promoted(out, x.to("mps"), by.to("mps"))
    assert torch.equal(out.cpu(), x.int() << (by.int() & 31))
    lib.turns(out)
    assert out.unique().tolist() == [2**8 - 2]


def test_templates_with_host_names():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        template <typename T, int N> kernel void scale(device T* x, uint i [[thread_position_in_grid]]) { x[i] *= N; }
        template [[host_name("scale_float_3")]] kernel void scale<float, 3>(device float*, uint);
        template [[host_name("scale_int_5")]] kernel void scale<int, 5>(device int*, uint);
    """)
    assert dir(lib) == ["scale_float_3", "scale_int_5"]
    x = torch.randn(40)
    device = x.to("mps")
    lib.scale_float_3(device)
    assert torch.equal(device.cpu(), x * 3)
    integers = _ints(40).to("mps")
    before = integers.cpu()
    lib.scale_int_5(integers)
    assert torch.equal(integers.cpu(), before * 5)


def test_math_functions():
    names = ["sin", "cos", "exp", "log", "sqrt", "rsqrt", "tanh", "floor", "fabs"]
    source = "#include <metal_stdlib>\nusing namespace metal;\n" + "".join(
        f"kernel void k_{name}(device float* x, uint i [[thread_position_in_grid]]) {{ x[i] = {name}(x[i]); }}\n" for name in names
    )
    lib = torch.mps.compile_shader(source)
    x = torch.rand(5000) * 20 + 0.01
    for name in names:
        device = x.to("mps")
        getattr(lib, f"k_{name}")(device)
        reference = {"fabs": "abs"}.get(name, name)
        # MSL allows 4 units in the last place for these functions; 1e-6 relative is 8 of float32's.
        torch.testing.assert_close(device.cpu(), getattr(torch, reference)(x.double()).float(), rtol=1e-6, atol=2e-6)


def test_bfloat_and_half():
    lib = torch.mps.compile_shader("""
        #include <metal_stdlib>
        using namespace metal;
        kernel void mix(device bfloat* b, device half* h, uint i [[thread_position_in_grid]]) {
            float sum = float(b[i]) + float(h[i]);
            b[i] = bfloat(sum);
            h[i] = half(sum);
        }
    """)
    b, h = torch.randn(500).bfloat16(), torch.randn(500).half()
    device_b, device_h = b.to("mps"), h.to("mps")
    lib.mix(device_b, device_h)
    total = b.float() + h.float()
    assert torch.equal(device_b.cpu(), total.bfloat16()) and torch.equal(device_h.cpu(), total.half())


def test_structs_and_constant_tables():
    lib = torch.mps.compile_shader("""
        struct Particle { float3 position; float mass; int2 cell; };
        constant float weights[4] = {0.5, 1.5, 2.5, 3.5};
        kernel void move(device Particle* p, uint i [[thread_position_in_grid]]) {
            Particle q = p[i];
            q.position += float3(q.mass) * weights[i % 4];
            q.cell = int2(q.position.xy);
            p[i] = q;
        }
    """)
    # float3 takes 16 bytes, so the struct has 8 words: position, padding, mass, padding, cell.
    words = torch.randn(20, 8).abs() * 10
    device = words.to("mps")
    lib.move(device, threads=20)
    out = device.cpu()
    weight = torch.tensor([0.5, 1.5, 2.5, 3.5])[torch.arange(20) % 4]
    expected = words[:, :3] + words[:, 4:5] * weight[:, None]
    torch.testing.assert_close(out[:, :3], expected, rtol=1e-6, atol=0)
    assert torch.equal(out.view(torch.int32)[:, 6:8], out[:, :2].int())


@pytest.mark.parametrize("header", ["utils", "special_math", "reduction_utils", "atomic", "random", "indexing", "error", "common"])
def test_headers_of_torch_compile(header):
    lib = torch.mps.compile_shader(f"""
        #include <c10/metal/{header}.h>
        kernel void f(device float* x, uint i [[thread_position_in_grid]]) {{ x[i] += 1; }}
    """)
    x = torch.zeros(4, device="mps")
    lib.f(x)
    assert x.tolist() == [1.0] * 4


def test_special_math_of_torch():
    lib = torch.mps.compile_shader("""
        #include <c10/metal/special_math.h>
        kernel void f(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
            out[3 * i] = c10::metal::erf(x[i]);
            out[3 * i + 1] = c10::metal::log_gamma(x[i]);
            out[3 * i + 2] = c10::metal::digamma(x[i]);
        }
    """)
    x = torch.rand(300) * 5 + 0.5
    out = torch.zeros(300, 3, device="mps")
    lib.f(out, x.to("mps"), threads=300)
    expected = torch.stack([x.erf(), x.lgamma(), x.digamma()], 1)
    # The header's approximations are good to about 1e-5 near the zeros of these functions.
    torch.testing.assert_close(out.cpu(), expected, rtol=2e-5, atol=2e-5)


def test_reductions_of_torch():
    lib = torch.mps.compile_shader("""
        #include <c10/metal/reduction_utils.h>
        kernel void f(device float* out, device const float* x, uint i [[thread_position_in_threadgroup]],
                      uint n [[threads_per_threadgroup]]) {
            threadgroup float shared[32];
            float sum = c10::metal::threadgroup_sum(shared, x[i], i, n);
            float most = c10::metal::threadgroup_max(shared, x[i], i, n);
            if (i == 0) { out[0] = sum; out[1] = most; }
        }
    """)
    for n in (32, 300, 1000, 1024):
        x = torch.randint(-100, 100, (n,)).float()
        out = torch.zeros(2, device="mps")
        lib.f(out, x.to("mps"), threads=n, group_size=n)
        assert out.tolist() == [x.sum().item(), x.max().item()]


def test_random_numbers_of_torch_match_the_device_generator():
    lib = torch.mps.compile_shader("""
        #include <c10/metal/random.h>
        kernel void f(device float* out, constant long& seed, uint i [[thread_position_in_grid]]) {
            out[i] = c10::metal::rand(seed, i);
        }
    """)
    out = torch.zeros(10000, device="mps")
    lib.f(out, 1234)
    assert out.min() >= 0 and out.max() < 1
    assert abs(out.mean().item() - 0.5) < 0.02
    again = torch.zeros(10000, device="mps")
    lib.f(again, 1234)
    assert torch.equal(out, again)


def test_kernels_mix_with_ops():
    lib = torch.mps.compile_shader(
        "kernel void add(device float* x, constant float& y, uint i [[thread_position_in_grid]]) { x[i] += y; }"
    )
    x = torch.randn(2000)
    device = x.to("mps")
    expected = x.clone()
    for _ in range(30):
        device = device * 1.5
        lib.add(device, 0.25)
        device.clamp_(-3, 3)
        expected = (expected * 1.5 + 0.25).clamp_(-3, 3)
    torch.testing.assert_close(device.cpu(), expected, rtol=1e-6, atol=1e-6)
    assert device[0].item() == device.cpu()[0].item()


def test_many_libraries():
    for value in range(12):
        lib = torch.mps.compile_shader(
            f"kernel void f(device int* x, uint i [[thread_position_in_grid]]) {{ x[i] = {value} + i; }}"
        )
        x = torch.zeros(5, dtype=torch.int32, device="mps")
        lib.f(x)
        assert x.tolist() == [value + i for i in range(5)]
