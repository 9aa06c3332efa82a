// what: half results above 65504 become infinite
// out: np.zeros(3, np.float16)
// in: np.array([60000.0, 2.0], np.float16)
// expect: [np.inf, -np.inf, 65504]
#include <metal_stdlib>
using namespace metal;

kernel void test(device half* out, device const half* a) {
  out[0] = a[0] * a[1];
  out[1] = -a[0] - a[0];
  out[2] = half(65504.0f);
}
