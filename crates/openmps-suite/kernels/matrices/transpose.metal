// what: transpose of a rectangular matrix
// out: np.zeros(6, np.float32)
// in: rng.standard_normal((3, 2)).astype(np.float32)
// expect: a.T
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float3x2& a) {
  float2x3 t = transpose(a);
  for (int k = 0; k < 6; k++) out[k] = t[k / 3][k % 3];
}
