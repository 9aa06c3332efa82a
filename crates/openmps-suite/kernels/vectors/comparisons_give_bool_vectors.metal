// what: componentwise comparison and select
// threads: 16
// out: np.zeros((16, 4), np.float32)
// in: rng.standard_normal((16, 4)).astype(np.float32)
// in: rng.standard_normal((16, 4)).astype(np.float32)
// expect: np.where(a < b, a, b)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float4* out,
    device const float4* a,
    device const float4* b,
    uint i [[thread_position_in_grid]]) {
  bool4 smaller = a[i] < b[i];
  out[i] = select(b[i], a[i], smaller);
}
