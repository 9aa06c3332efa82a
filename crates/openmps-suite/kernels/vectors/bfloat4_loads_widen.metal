// what: bfloat4 in memory, computed as float4
// threads: 16
// out: np.zeros((16, 4), np.float32)
// in: (rng.standard_normal((16, 4)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.int16)
// expect: (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32) * 2
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const bfloat4* a, uint i [[thread_position_in_grid]]) {
  out[i] = float4(a[i]) * 2;
}
