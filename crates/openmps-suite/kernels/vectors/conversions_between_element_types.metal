// what: int4 to float4, float4 to half4, and back with truncation
// threads: 16
// out: np.zeros((16, 4), np.int32)
// in: rng.integers(-1000, 1000, (16, 4)).astype(np.int32)
// expect: np.trunc((a / 2).astype(np.float16).astype(np.float32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, device const int4* a, uint i [[thread_position_in_grid]]) {
  half4 h = half4(float4(a[i]) * 0.5f);
  out[i] = int4(h);
}
