// what: copysign with zeros and NaN as the sign's source
// threads: 4
// out: np.zeros(4, np.float32)
// in: np.array([3.0, -3.0, 3.0, 0.5], np.float32)
// in: np.array([-0.0, 0.0, -np.inf, 7.0], np.float32)
// expect: [-3, 3, -3, 0.5]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = copysign(a[i], b[i]);
}
