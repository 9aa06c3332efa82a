// what: every way to build a vector from scalars and shorter vectors
// out: np.zeros(40, np.float32)
// expect: [1, 1, 1, 1, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 0, 5, 6, 7, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out) {
  float2 a(1, 2), b(3, 4), m(2, 3);
  float3 abc(1, 2, 3), bcd(2, 3, 4);
  out[0] = float4(1);
  out[1] = float4(1, 2, 3, 4);
  out[2] = float4(a, b);
  out[3] = float4(a, 3, 4);
  out[4] = float4(1, m, 4);
  out[5] = float4(1, 2, b);
  out[6] = float4(abc, 4);
  out[7] = float4(1, bcd);
  out[8] = float4(float3(a, 3), 0);
  packed_float3 p(5, 6, 7);
  out[9] = float4(p, 0);
}
