// what: assignment to a swizzle writes just those components
// threads: 8
// out: rng.standard_normal((8, 4)).astype(np.float32)
// in: rng.standard_normal((8, 2)).astype(np.float32)
// let: first = a[:, 0]
// expect: np.stack([np.full(8, 7), a[:, 1], np.full(8, 7), first], 1)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float2* a, uint i [[thread_position_in_grid]]) {
  float4 v = 7;
  v.wy = a[i];
  out[i] = v;
}
