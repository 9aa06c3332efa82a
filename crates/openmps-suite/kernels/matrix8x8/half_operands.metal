// what: half matrices multiplied into float
// threads: 32
// out: np.zeros((8, 8), np.float32)
// in: rng.standard_normal((8, 8)).astype(np.float16)
// in: rng.standard_normal((8, 8)).astype(np.float16)
// expect: a.astype(np.float32) @ b.astype(np.float32)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const half* a, device const half* b) {
  simdgroup_half8x8 x, y;
  simdgroup_float8x8 sum(0.0f);
  simdgroup_load(x, a, 8);
  simdgroup_load(y, b, 8);
  simdgroup_multiply_accumulate(sum, x, y, sum);
  simdgroup_store(sum, out, 8);
}
