// what: sqrt and rsqrt, fma rounds once, fmod, copysign, nextafter, divide
// out: np.zeros(7, np.float32)
// in: np.array([2.0, 4.0, 5.5, -3.0, 1 + 2**-12], np.float32)
// expect: [np.sqrt(np.float32(2)), 0.5, 2**-24, 2.5, -5.5, 1 + 2**-23, np.float32(5.5) / np.float32(-3)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in) {
  out[0] = sqrt(in[0]);
  out[1] = rsqrt(in[1]);
  float x = in[4], square = 1 + 0x1p-11f;
  out[2] = fma(x, x, -square);
  out[3] = fmod(in[2], in[3]);
  out[4] = copysign(in[2], in[3]);
  out[5] = nextafter(1.0f, 2.0f);
  out[6] = divide(in[2], in[3]);
}
