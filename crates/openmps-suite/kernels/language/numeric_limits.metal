// what: limits of floating and integer types
// out: np.zeros(5, np.float32)
// expect: [np.finfo(np.float32).max, np.finfo(np.float32).eps, 65504, 127, -32768]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  out[0] = numeric_limits<float>::max();
  out[1] = numeric_limits<float>::epsilon();
  out[2] = numeric_limits<half>::max();
  out[3] = numeric_limits<char>::max();
  out[4] = numeric_limits<short>::lowest();
}
