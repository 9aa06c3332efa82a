// what: comparisons with -INFINITY hold, and exp of it is zero
// threads: 4
// out: np.zeros(8, np.float32)
// in: np.array([-np.inf, 0.0, 1.0, -np.inf], np.float32)
// expect: [1, 0, 0, 1, 0, np.e, 1, 0]
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] == -INFINITY;
  out[2 * i + 1] = exp(a[i]);
}
