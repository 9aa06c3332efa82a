// what: a scalar makes a diagonal matrix
// out: np.zeros(9, np.float32)
// expect: np.eye(3) * 4
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  float3x3 m(4.0f);
  for (int k = 0; k < 9; k++) out[k] = m[k / 3][k % 3];
}
