// what: unsuffixed literals are float: 0.1 + 0.2 rounds as float
// out: np.zeros(2, np.float32)
// in: np.array([0.1], np.float32)
// expect: [a[0] + np.float32(0.2), np.float32(1) / np.float32(3)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  out[0] = a[0] + 0.2;
  out[1] = 1.0 / 3.0;
}
