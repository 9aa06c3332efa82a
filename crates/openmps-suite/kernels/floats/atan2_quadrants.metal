// what: atan2 in all quadrants and on the axes
// threads: 8
// out: np.zeros(8, np.float32)
// in: np.array([1, 1, -1, -1, 0, 0.0, -0.0, 5], np.float32)
// in: np.array([1, -1, 1, -1, 2, -2.0, -2.0, 0], np.float32)
// expect: np.arctan2(a, b)
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = atan2(a[i], b[i]);
}
