// what: fused multiply-adds over constant coefficients
// threads: 100
// out: np.zeros(100, np.float32)
// in: rng.uniform(-1, 1, 100).astype(np.float32)
// expect: np.polyval([1 / 120, 1 / 24, 1 / 6, 0.5, 1, 1], a.astype(np.float64))
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

constant float coefficients[] = {1 / 120.0f, 1 / 24.0f, 1 / 6.0f, 0.5f, 1, 1};

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float y = 0;
  for (float c : coefficients) y = fma(y, a[i], c);
  out[i] = y;
}
