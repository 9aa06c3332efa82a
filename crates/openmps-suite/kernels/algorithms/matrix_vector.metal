// what: a matrix times a vector, one row for each SIMD-group
// threads: 512
// group: 128
// out: np.zeros(16, np.float32)
// in: rng.standard_normal((16, 100)).astype(np.float32)
// in: rng.standard_normal(100).astype(np.float32)
// expect: a @ b
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  uint row = i / 32;
  float sum = 0;
  for (uint k = lane; k < 100; k += 32) sum += a[100 * row + k] * b[k];
  sum = simd_sum(sum);
  if (lane == 0) out[row] = sum;
}
