// what: pow with zero, one, infinite and negative bases
// threads: 7
// out: np.zeros(7, np.float32)
// in: np.array([0, 1, -2, -8, np.inf, 2, 0], np.float32)
// in: np.array([0, np.nan, 3, 0.5, -1, -np.inf, -1], np.float32)
// expect: [1, 1, -8, np.nan, 0, 0, np.inf]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = pow(a[i], b[i]);
}
