// what: frexp, ldexp, modf, ilogb
// out: np.zeros(7, np.float32)
// in: np.array([10.0, -3.75], np.float32)
// expect: [0.625, 4, 40, -0.75, -3, 3, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in) {
  int exponent;
  out[0] = frexp(in[0], exponent);
  out[1] = exponent;
  out[2] = ldexp(in[0], 2);
  float whole;
  out[3] = modf(in[1], whole);
  out[4] = whole;
  out[5] = ilogb(in[0]);
  out[6] = ilogb(in[1]);
}
