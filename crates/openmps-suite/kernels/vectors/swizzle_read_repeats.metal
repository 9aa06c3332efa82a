// what: swizzles may repeat components
// threads: 8
// out: np.zeros((8, 4), np.float32)
// in: rng.standard_normal((8, 4)).astype(np.float32)
// expect: a[:, [2, 2, 0, 1]]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = a[i].zzxy;
}
