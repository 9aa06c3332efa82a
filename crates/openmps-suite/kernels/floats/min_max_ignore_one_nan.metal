// what: min and max of float give the number when the other is NaN
// out: np.zeros(6, np.float32)
// in: np.array([np.nan, 2.0, -1.0], np.float32)
// expect: [2, 2, 2, 2, -1, 2]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  out[0] = min(a[0], a[1]);
  out[1] = max(a[1], a[0]);
  out[2] = fmin(a[1], a[0]);
  out[3] = fmax(a[0], a[1]);
  out[4] = fmin(a[1], a[2]);
  out[5] = fmax(a[1], a[2]);
}
