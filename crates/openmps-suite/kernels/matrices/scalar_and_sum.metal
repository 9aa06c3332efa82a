// what: sums, differences and scaling of matrices
// threads: 4
// out: np.zeros((4, 2, 2), np.float32)
// in: rng.standard_normal((4, 2, 2)).astype(np.float32)
// in: rng.standard_normal((4, 2, 2)).astype(np.float32)
// expect: (a + b) * 2 - b * np.float32(0.5)
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float2x2* out,
    device const float2x2* a,
    device const float2x2* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = (a[i] + b[i]) * 2.0f - 0.5f * b[i];
}
