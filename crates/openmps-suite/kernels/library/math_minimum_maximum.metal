// what: fmin and fmax ignore one NaN; min3, max3, median3, clamp
// out: np.zeros(9, np.float32)
// in: np.array([np.nan, 1, 2, 3], np.float32)
// expect: [1, 1, 1, 3, 2, 2, 1.5, 0, 3]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in) {
  float nan = in[0], a = in[1], b = in[2], c = in[3];
  out[0] = fmin(nan, a);
  out[1] = max(a, nan);
  out[2] = min3(c, a, b);
  out[3] = fmax3(a, c, b);
  out[4] = median3(c, a, b);
  out[5] = clamp(c, a, b);
  out[6] = clamp(1.5f, a, b);
  out[7] = fdim(a, b);
  out[8] = fdim(c, 0.0f);
}
