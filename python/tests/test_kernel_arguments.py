"""How Python values reach a kernel: the binding table, casts, grids, attributes of libraries and kernels."""

import gc
import math
import random

import numpy
import pytest
import torch


def compile_shader(source):
    return torch.mps.compile_shader(source)


@pytest.fixture(scope="module")
def probe():
    """Kernels that copy the bytes of their argument into a tensor."""
    return compile_shader("""
        kernel void words(device uint* out, constant uint* in, uint i [[thread_position_in_grid]]) { out[i] = in[i]; }
        kernel void bytes(device uchar* out, constant uchar* in, uint i [[thread_position_in_grid]]) { out[i] = in[i]; }
        kernel void through(device float* out, device float* const constant* in, constant uint& count,
                            uint i [[thread_position_in_grid]]) {
            float sum = 0;
            for (uint k = 0; k < count; k++) sum += in[k][i];
            out[i] = sum;
        }
    """)


def received(probe, value, dtype, count=1, **options):
    """What the kernel sees of `value`, as `count` elements of `dtype`."""
    out = torch.zeros(count * dtype.itemsize, dtype=torch.uint8, device="mps")
    probe.bytes(out, value, **options)
    return out.cpu().view(dtype).tolist()


def test_the_example_of_the_guide():
    lib = compile_shader(
        "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = val; }"
    )
    x = torch.zeros(16, device="mps")
    assert lib.full(x, 3.14) is None
    assert torch.equal(x.cpu(), torch.full((16,), 3.14))


@pytest.mark.parametrize("value", [0, 1, -1, 2**63 - 1, -(2**63), True, False, random.randrange(2**62)])
def test_ints_are_eight_bytes(probe, value):
    assert received(probe, value, torch.int64) == [int(value)]


def test_an_int_serves_int_and_long_parameters():
    lib = compile_shader("""
        kernel void narrow(device long* out, constant int& x, constant uint& y, constant short& z) {
            out[0] = x; out[1] = y; out[2] = z;
        }
    """)
    out = torch.zeros(3, dtype=torch.int64, device="mps")
    lib.narrow(out, -5, 7, -9, threads=1)
    assert out.tolist() == [-5, 7, -9]


@pytest.mark.parametrize("value", [0.0, -0.0, 3.14, 1e300, float("inf"), float("-inf"), 1e-40, numpy.float64(2.5)])
def test_floats_are_four_bytes(probe, value):
    expected = torch.tensor(float(value), dtype=torch.float64).float()
    (actual,) = received(probe, value, torch.float32)
    assert actual == expected.item() and math.copysign(1, actual) == math.copysign(1, expected.item())


def test_nan(probe):
    assert math.isnan(received(probe, float("nan"), torch.float32)[0])


def test_lists(probe):
    integers = [random.randrange(-(2**40), 2**40) for _ in range(5)]
    assert received(probe, integers, torch.int64, 5) == integers
    assert received(probe, tuple(integers), torch.int64, 5) == integers
    assert received(probe, [True, False], torch.int64, 2) == [1, 0]
    assert received(probe, [1.5, -2.5, 3], torch.float32, 3) == [1.5, -2.5, 3.0]


@pytest.mark.parametrize(
    ("cast", "dtype"),
    [("fp16", torch.float16), ("bf16", torch.bfloat16), ("int32", torch.int32), ("int16", torch.int16), ("int8", torch.int8),
     ("uint8", torch.uint8)],
)  # fmt: skip
def test_casts(probe, cast, dtype):
    numbers = [random.uniform(0, 100) for _ in range(6)]
    assert received(probe, numbers, dtype, 6, arg_casts=cast) == torch.tensor(numbers).to(dtype).tolist()
    integers = [random.randrange(0, 100) for _ in range(6)]
    assert received(probe, integers, dtype, 6, arg_casts={1: cast}) == torch.tensor(integers).to(dtype).tolist()
    assert received(probe, 42, dtype, arg_casts=cast) == [42]
    assert received(probe, 7.0, dtype, arg_casts={1: cast}) == [7]


def test_integer_casts_wrap(probe):
    assert received(probe, 2**32 + 5, torch.int32, arg_casts="int32") == [5]
    assert received(probe, -1, torch.uint8, arg_casts="uint8") == [255]
    assert received(probe, 300, torch.int8, arg_casts="int8") == [44]


def test_casts_leave_tensors_alone(probe):
    x = torch.arange(4, dtype=torch.int64, device="mps")
    assert received(probe, x, torch.int64, 4, arg_casts="int8") == [0, 1, 2, 3]
    assert received(probe, 9, torch.int64, arg_casts={0: "fp16"}) == [9]


_SCALARS = [
    torch.tensor(3.5), torch.tensor(2.0, dtype=torch.float16), torch.tensor(-2.0, dtype=torch.bfloat16), torch.tensor(-7),
    torch.tensor(5, dtype=torch.uint8), torch.tensor(True), torch.tensor(1 + 2j), torch.tensor(9, dtype=torch.int16),
]  # fmt: skip


@pytest.mark.parametrize("scalar", _SCALARS, ids=lambda scalar: str(scalar.dtype))
def test_cpu_scalars_are_their_bytes(probe, scalar):
    assert received(probe, scalar, scalar.dtype, threads=scalar.dtype.itemsize) == [scalar.item()]


def test_wide_cpu_scalars_are_narrowed(probe):
    assert received(probe, torch.tensor(0.1, dtype=torch.float64), torch.float32) == [torch.tensor(0.1).item()]
    assert received(probe, torch.tensor(1 + 2j, dtype=torch.complex128), torch.complex64) == [1 + 2j]


def test_parameters_and_scalars_with_gradient(probe):
    weight = torch.nn.Parameter(torch.arange(3.0, device="mps"))
    assert received(probe, weight, torch.float32, 3) == [0, 1, 2]
    assert received(probe, torch.tensor(4.0, requires_grad=True), torch.float32) == [4.0]


def test_tensors_bind_with_their_offset(probe):
    x = torch.arange(20.0, device="mps")
    assert received(probe, x[7:], torch.float32, 5) == [7, 8, 9, 10, 11]
    # Strides are ignored: the kernel sees memory.
    assert received(probe, x[4::3], torch.float32, 3) == [4, 5, 6]


def test_lists_of_tensors_are_addresses(probe):
    tensors = [torch.randn(50, device="mps") for _ in range(4)]
    base = torch.randn(80, device="mps")
    tensors.append(base[30:])
    out = torch.zeros(50, device="mps")
    probe.through(out, tensors, len(tensors))
    torch.testing.assert_close(out, sum(tensor[:50] for tensor in tensors))
    addresses = torch.zeros(5, dtype=torch.int64, device="mps")
    probe.bytes(addresses, tensors, threads=40)
    assert addresses.tolist() == [tensor.data_ptr() for tensor in tensors]


def test_a_tensor_freed_while_queued_stays_alive(probe):
    out = torch.zeros(50, device="mps")
    for _ in range(20):
        probe.through(out, [torch.full((50,), 2.0, device="mps"), torch.full((50,), 3.0, device="mps")], 2)
        torch.full((50,), 9.0, device="mps")
    assert out.tolist() == [5.0] * 50


def test_empty_tensors_are_taken():
    lib = compile_shader("kernel void f(device int* out, device int* x, constant int& n) { out[0] = n > 0 ? x[0] : -1; }")
    out = torch.zeros(1, dtype=torch.int32, device="mps")
    lib.f(out, torch.empty(0, dtype=torch.int32, device="mps"), 0, threads=1)
    assert out.item() == -1


_POSITIONS = """
    kernel void grid(device int* out, uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]],
                     uint3 size [[threads_per_threadgroup]], uint3 groups [[threadgroups_per_grid]],
                     uint3 group [[threadgroup_position_in_grid]], uint3 local [[thread_position_in_threadgroup]],
                     uint3 asked [[dispatch_threads_per_threadgroup]]) {
        device int* row = out + 20 * (p.x + n.x * (p.y + n.y * p.z));
        for (int k = 0; k < 3; k++) {
            row[k] = p[k]; row[3 + k] = n[k]; row[6 + k] = size[k]; row[9 + k] = groups[k]; row[12 + k] = group[k];
            row[15 + k] = local[k];
        }
        row[18] = asked.x * asked.y * asked.z; row[19] += 1;
    }
    kernel void count(device int* out, uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) {
        out[i] = n;
    }
"""


def _expected_grid(threads, group):
    rows = []
    for z in range(threads[2]):
        for y in range(threads[1]):
            for x in range(threads[0]):
                p = (x, y, z)
                at = [p[k] // group[k] for k in range(3)]
                size = [min(group[k], threads[k] - at[k] * group[k]) for k in range(3)]
                groups = [-(-threads[k] // group[k]) for k in range(3)]
                local = [p[k] - at[k] * group[k] for k in range(3)]
                rows.append([*p, *threads, *size, *groups, *at, *local, math.prod(group), 1])
    return rows


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_grids_run_exactly_the_threads_asked_for(rank):
    lib = compile_shader(_POSITIONS)
    for _ in range(4):
        threads = [random.randrange(1, 14) for _ in range(rank)]
        group = [random.randrange(1, 8) for _ in range(rank)]
        out = torch.zeros(math.prod(threads), 20, dtype=torch.int32, device="mps")
        lib.grid(out, threads=threads, group_size=group)
        full = [[*sizes, 1, 1][:3] for sizes in (threads, group)]
        assert out.tolist() == _expected_grid(*full), (threads, group)


def test_default_threads_and_groups():
    lib = compile_shader(_POSITIONS)
    limit = lib.count.max_threads_per_threadgroup
    out = torch.zeros(limit + 100, dtype=torch.int32, device="mps")
    lib.count(out)
    assert out.tolist() == [limit] * limit + [100] * 100
    out.zero_()
    lib.count(out, threads=5)
    assert out[:6].tolist() == [5] * 5 + [0]
    out.zero_()
    lib.count(out, threads=(7,), group_size=[3])
    assert out[:8].tolist() == [3, 3, 3, 3, 3, 3, 1, 0]
    lib.count(out, threads=torch.Size([9]))
    assert out[8].item() == 9


def test_zero_threads_do_nothing():
    lib = compile_shader(_POSITIONS)
    out = torch.zeros(4, dtype=torch.int32, device="mps")
    lib.count(out, threads=0)
    lib.count(out, threads=[0, 3])
    lib.count(torch.empty(0, dtype=torch.int32, device="mps"))
    assert out.tolist() == [0] * 4


def test_attributes():
    lib = compile_shader(_POSITIONS + """
        kernel void memory(device float* x, uint i [[thread_position_in_threadgroup]]) {
            threadgroup float tile[256];
            tile[i] = i;
            threadgroup_barrier(metal::mem_flags::mem_threadgroup);
            x[i] = tile[i ^ 1];
        }
        [[max_total_threads_per_threadgroup(96)]] kernel void small(device float* x) { x[0] = 1; }
    """)
    assert dir(lib) == ["count", "grid", "memory", "small"]
    assert type(lib).__name__ == "_mps_ShaderLibrary" and type(lib.grid).__name__ == "_mps_MetalKernel"
    assert lib.grid is not lib.grid
    assert (lib.grid.max_threads_per_threadgroup, lib.grid.thread_execution_width) == (1024, 32)
    assert lib.grid.static_thread_group_memory_length == 0
    assert lib.memory.static_thread_group_memory_length == 1024
    assert lib.small.max_threads_per_threadgroup == 96
    with pytest.raises(AttributeError):
        lib.grid.thread_execution_width = 1


def test_kernels_outlive_their_library():
    kernel = compile_shader(_POSITIONS).count
    gc.collect()
    out = torch.zeros(3, dtype=torch.int32, device="mps")
    kernel(out)
    assert out.tolist() == [3, 3, 3]


def test_a_library_without_kernels():
    assert dir(compile_shader("")) == []
    assert dir(compile_shader("static int unused() { return 1; }")) == []


def test_unused_and_positional_arguments():
    lib = compile_shader("""
        kernel void placed(device float* out [[buffer(2)]], constant float& x [[buffer(0)]]) { out[0] = x; }
    """)
    out = torch.zeros(1, device="mps")
    lib.placed(6.0, None if False else 0, out, threads=1)
    assert out.item() == 6.0


def test_current_stream_is_used():
    lib = compile_shader(_POSITIONS)
    stream = torch.mps.Stream()
    out = torch.zeros(8, dtype=torch.int32, device="mps")
    torch.mps.synchronize()
    with torch.mps.stream(stream):
        lib.count(out)
    stream.synchronize()
    assert out.tolist() == [8] * 8


def test_error_buffer():
    lib = compile_shader("""
        #include <c10/metal/error.h>
        kernel void check(device int* out, constant int* index, device c10::metal::ErrorMessages* errors,
                          uint i [[thread_position_in_grid]]) {
            if (index[i] > 2) {
                TORCH_REPORT_ERROR(errors, "index ", index[i], " is out of bounds for dimension 0 with size ", 3);
                return;
            }
            out[i] = index[i];
        }
    """)
    out = torch.zeros(4, dtype=torch.int32, device="mps")
    lib.check(out, [0, 1, 2, 1], threads=4, arg_casts="int32", error_buf_idx=2)
    torch.mps.synchronize()
    lib.check(out, [0, 1, 7, 1], threads=4, arg_casts="int32", error_buf_idx=2)
    with pytest.raises(torch.AcceleratorError, match="index 7 is out of bounds for dimension 0 with size 3"):
        torch.mps.synchronize()
    torch.mps.synchronize()
    assert out.tolist() == [0, 1, 2, 1]


def test_an_empty_tensor_is_a_null_pointer_to_a_kernel_that_asks():
    source = """
    kernel void has(device int* out, device const float* maybe, uint i [[thread_position_in_grid]]) {
      out[i] = maybe == nullptr ? 1 : 2;
    }
    kernel void value(device float* out, device const float* maybe, uint i [[thread_position_in_grid]]) { out[i] = maybe[0]; }
    """
    library = torch.mps.compile_shader(source)
    out = torch.zeros(3, dtype=torch.int32, device="mps")
    library.has(out, torch.empty(0, device="mps"))
    assert out.tolist() == [1, 1, 1]
    library.has(out, torch.ones(1, device="mps"))
    assert out.tolist() == [2, 2, 2]
    # One that reads without asking gets zeros, as from a buffer that is not there.
    result = torch.ones(3, device="mps")
    library.value(result, torch.empty(0, device="mps"))
    assert result.tolist() == [0, 0, 0]
