// what: every comparison with NaN is false but !=
// out: np.zeros(6, np.int32)
// in: np.array([np.nan, 1.0], np.float32)
// expect: [0, 0, 0, 0, 0, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* a) {
  float x = a[0], y = a[1];
  out[0] = x < y;
  out[1] = x > y;
  out[2] = x <= y;
  out[3] = x >= y;
  out[4] = x == x;
  out[5] = x != x;
}
