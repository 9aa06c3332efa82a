// what: min and max of a vector and a scalar
// threads: 16
// out: np.zeros((16, 4), np.float32)
// in: rng.standard_normal((16, 4)).astype(np.float32)
// expect: np.maximum(np.minimum(a, 0.5), -0.5)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = max(min(a[i], 0.5f), -0.5f);
}
