// what: normalize keeps the direction
// threads: 16
// out: np.zeros((16, 2), np.float32)
// in: rng.standard_normal((16, 2)).astype(np.float32)
// expect: a / np.linalg.norm(a, axis=1, keepdims=True)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float2* a, uint i [[thread_position_in_grid]]) {
  out[i] = normalize(a[i]);
}
