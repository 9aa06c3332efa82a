// what: half arithmetic has subnormal numbers
// out: np.zeros(2, np.float16)
// in: np.array([6.1e-05, 2.0], np.float16)
// expect: [a[0] / 2, 6e-08]
#include <metal_stdlib>
using namespace metal;

kernel void test(device half* out, device const half* a) {
  out[0] = a[0] / a[1];
  out[1] = half(6e-08f);
}
