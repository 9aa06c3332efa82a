// what: swizzles of swizzles, as values
// threads: 8
// out: np.zeros((8, 2), np.float32)
// in: rng.standard_normal((8, 4)).astype(np.float32)
// expect: a[:, [1, 3]]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = a[i].wzyx.zx;
}
