// what: zeros compare equal, and keep their sign through copies, negation and division
// out: np.zeros(4, np.float32)
// in: np.array([0.0, -0.0], np.float32)
// expect: [1, np.inf, -np.inf, -np.inf]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  out[0] = a[0] == a[1];
  out[1] = 1.0f / a[0];
  out[2] = 1.0f / a[1];
  out[3] = 1.0f / -a[0];
}
