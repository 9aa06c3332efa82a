// what: a float4 from every partition into scalars and vectors
// out: np.zeros(28, np.float32)
// expect: [1, 2, 3, 4] * 7
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out) {
  float2 front(1, 2), back(3, 4);
  out[0] = float4(1, 2, 3, 4);
  out[1] = float4(front, 3, 4);
  out[2] = float4(1, float2(2, 3), 4);
  out[3] = float4(1, 2, back);
  out[4] = float4(front, back);
  out[5] = float4(float3(1, 2, 3), 4);
  out[6] = float4(1, float3(2, 3, 4));
}
