// what: arithmetic between vectors and with scalars on either side
// out: np.zeros(24, np.float32)
// in: np.array([1, 2, 3, 4, 5, 6, 7, 8], np.float32)
// expect: [6, 8, 10, 12, -4, -4, -4, -4, 5, 12, 21, 32, 5, 3, 7/3, 2, 2, 1, 2/3, 0.5, -1, -2, -3, -4]
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* in) {
  float4 a = in[0], b = in[1];
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = b / a;
  out[4] = 2 / a;
  out[5] = -a;
}
