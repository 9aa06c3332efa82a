// what: bfloat matrices multiplied into float
// threads: 32
// out: np.zeros((8, 8), np.float32)
// in: rng.integers(-8, 8, (8, 8)).astype(np.float32).view(np.uint32).__rshift__(16).astype(np.uint16).view(np.int16)
// let: m = (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
// expect: m @ m
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const bfloat* a) {
  simdgroup_bfloat8x8 x;
  simdgroup_float8x8 sum(0.0f);
  simdgroup_load(x, a, 8);
  simdgroup_multiply_accumulate(sum, x, x, sum);
  simdgroup_store(sum, out, 8);
}
