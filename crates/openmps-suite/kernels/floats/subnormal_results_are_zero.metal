// what: results too small for a normal float are flushed to zero with their sign
// out: np.zeros(3, np.float32)
// in: np.array([1e-30, -1e-30], np.float32)
// expect: [0, -np.inf, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  out[0] = a[0] * 1e-10f;
  out[1] = 1.0f / (a[1] * 1e-10f);
  out[2] = (a[0] * 1e-10f) * 1e30f;
}
