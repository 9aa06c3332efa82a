// what: D = A B + C by one SIMD-group
// threads: 32
// out: np.zeros((8, 8), np.float32)
// in: rng.standard_normal((8, 8)).astype(np.float32)
// in: rng.standard_normal((8, 8)).astype(np.float32)
// in: rng.standard_normal((8, 8)).astype(np.float32)
// expect: a @ b + c
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    device const float* c) {
  simdgroup_float8x8 x, y, z;
  simdgroup_load(x, a, 8);
  simdgroup_load(y, b, 8);
  simdgroup_load(z, c, 8);
  simdgroup_multiply_accumulate(z, x, y, z);
  simdgroup_store(z, out, 8);
}
