// what: floor, ceil, trunc, rint (ties to even), round (ties away), fract
// out: np.zeros(18, np.float32)
// in: np.array([2.5, -2.5, 1.75], np.float32)
// expect: [2, 3, 2, 2, 3, 0.5, -3, -2, -2, -2, -3, 0.5, 1, 2, 1, 2, 2, 0.75]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in) {
  for (int i = 0; i < 3; i++) {
    float x = in[i];
    out[6 * i + 0] = floor(x);
    out[6 * i + 1] = ceil(x);
    out[6 * i + 2] = trunc(x);
    out[6 * i + 3] = rint(x);
    out[6 * i + 4] = round(x);
    out[6 * i + 5] = fract(x);
  }
}
