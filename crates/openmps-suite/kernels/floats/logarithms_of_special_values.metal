// what: log of zero, negative numbers and infinity
// threads: 4
// out: np.zeros(4, np.float32)
// in: np.array([0, -1, np.inf, 1], np.float32)
// expect: [-np.inf, np.nan, np.inf, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = log(a[i]);
}
