// what: m[c] is a column, m[c][r] an element
// out: np.zeros(6, np.float32)
// expect: [1, 2, 3, 4, 5, 6]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  float2x3 m(float3(1, 2, 3), float3(4, 5, 6));
  for (int c = 0; c < 2; c++)
    for (int r = 0; r < 3; r++) out[3 * c + r] = m[c][r];
}
