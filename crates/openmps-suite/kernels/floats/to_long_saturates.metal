// what: conversions to long and ulong stop at the limits
// threads: 4
// out: np.zeros(8, np.int64)
// in: np.array([1e30, -1e30, np.nan, 5e9], np.float32)
// expect: [2**63 - 1, -1, -2**63, 0, 0, 0, 5000000000, 5000000000]
#include <metal_stdlib>
using namespace metal;

kernel void test(device long* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = long(a[i]);
  out[2 * i + 1] = long(ulong(a[i]));
}
