// what: GELU by the tanh formula, near the exact one
// threads: 100
// out: np.zeros(100, np.float32)
// in: rng.standard_normal(100).astype(np.float32)
// expect: 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a ** 3)))
// tolerance: 2e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float x = a[i];
  out[i] = 0.5f * x * (1 + precise::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}
