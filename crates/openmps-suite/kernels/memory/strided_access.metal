// what: loads with strides two, three and four
// threads: 32
// out: np.zeros(32, np.float32)
// in: rng.standard_normal(128).astype(np.float32)
// expect: a[::2][:32] + a[::3][:32] + a[::4][:32]
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = a[2 * i] + a[3 * i] + a[4 * i];
}
