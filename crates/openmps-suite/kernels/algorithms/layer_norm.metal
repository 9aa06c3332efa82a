// what: rows normalised by mean and variance of one SIMD-group each
// threads: 128
// group: 64
// out: np.zeros((4, 96), np.float32)
// in: rng.standard_normal((4, 96)).astype(np.float32)
// expect: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  device const float* row = a + 96 * (i / 32);
  float values[3], sum = 0, squares = 0;
  for (uint k = 0; k < 3; k++) sum += values[k] = row[lane + 32 * k];
  float mean = simd_sum(sum) / 96;
  for (uint k = 0; k < 3; k++) squares += (values[k] - mean) * (values[k] - mean);
  float scale = rsqrt(simd_sum(squares) / 96 + 1e-5f);
  for (uint k = 0; k < 3; k++) out[96 * (i / 32) + lane + 32 * k] = (values[k] - mean) * scale;
}
