// what: hexadecimal floating literals and digit separators
// out: np.zeros(3, np.float32)
// expect: [1.5, 0.0009765625, 1000000]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  out[0] = 0x1.8p0;
  out[1] = 0x1p-10f;
  out[2] = 1'000'000.0;
}
