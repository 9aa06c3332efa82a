// what: braced lists of vectors and scalars, of packed vectors and of other element types
// out: np.zeros(16, np.float32)
// expect: [1,2,3,4, 5,6,7,0, 1,0,0,0, 1,0,1,0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, uint i [[thread_position_in_grid]]) {
  out[0] = {float2(1, 2), 3, 4};
  packed_float3 packed = {5, 6.0f + i, 7};
  out[1] = float4{packed, 0};
  half2 h = {1.0h};
  out[2] = float4(float2(h), 0, 0);
  bool4 b = {i == 0, i == 1, true};
  out[3] = float4(b);
}
