// what: an optimizer's update of parameters and both moments
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.standard_normal(64).astype(np.float32)
// in: rng.standard_normal(64).astype(np.float32)
// let: m = 0.1 * b / (1 - 0.9)
// let: v = 0.001 * b * b / (1 - 0.999)
// expect: a - 1e-3 * m / (np.sqrt(v) + 1e-8)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  float gradient = b[i];
  float m = (1 - 0.9f) * gradient, v = (1 - 0.999f) * gradient * gradient;
  float m_hat = m / (1 - 0.9f), v_hat = v / (1 - 0.999f);
  out[i] = a[i] - 1e-3f * m_hat / (precise::sqrt(v_hat) + 1e-8f);
}
