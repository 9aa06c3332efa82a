// what: rectangular matrices, diagonal constructor, scalar operators
// out: np.zeros(5, np.float32)
// expect: [14, 32, 3, 0, 60]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  float3x2 m(1, 4, 2, 5, 3, 6);
  float2 v = m * float3(1, 2, 3);
  out[0] = v.x;
  out[1] = v.y;
  float4x4 identity(1.0);
  float4x4 scaled = identity * 2 + identity;
  out[2] = scaled[3][3];
  out[3] = scaled[3][2];
  m *= 10;
  out[4] = m[2][1];
}
