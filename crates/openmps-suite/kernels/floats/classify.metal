// what: isnan, isinf, isfinite, isnormal and signbit
// threads: 6
// out: np.zeros(30, np.int32)
// in: np.array([1.0, -0.0, np.inf, -np.inf, np.nan, 1e-40], np.float32)
// expect: [0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float x = a[i];
  out[5 * i] = isnan(x);
  out[5 * i + 1] = isinf(x);
  out[5 * i + 2] = isfinite(x);
  out[5 * i + 3] = isnormal(x);
  out[5 * i + 4] = signbit(x);
}
