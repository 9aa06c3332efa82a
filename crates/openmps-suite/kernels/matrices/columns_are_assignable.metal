// what: assignment to a column and to an element of a private matrix
// out: np.zeros(4, np.float32)
// expect: [9, 8, 3, 7]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  float2x2 m(float2(1, 2), float2(3, 4));
  m[0] = float2(9, 8);
  m[1][1] = 7;
  for (int k = 0; k < 4; k++) out[k] = m[k / 2][k % 2];
}
