// what: the default mode evaluates sums in the order written
// out: np.zeros(2, np.float32)
// in: np.array([1e20, -1e20, 3.5], np.float32)
// expect: [3.5, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  out[0] = (a[0] + a[1]) + a[2];
  out[1] = a[0] + (a[1] + a[2]);
}
