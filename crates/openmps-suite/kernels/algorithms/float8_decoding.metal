// what: 8-bit floats of 4 exponent bits, subnormals too
// threads: 256
// out: np.zeros(256, np.float32)
// let: bits = np.arange(256)
// let: e = bits >> 3 & 15
// let: m = bits & 7
// let: value = np.where(e == 0, m * 2.0**-9, (8 + m) * 2.0 ** (e - 10.0))
// let: value = np.where((e == 15) & (m == 7), np.nan, value)
// expect: np.where(bits >> 7, -value, value)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  uint exponent = i >> 3 & 15, mantissa = i & 7;
  float value;
  if (exponent == 15 && mantissa == 7)
    value = NAN;
  else if (exponent == 0)
    value = ldexp(float(mantissa), -9);
  else
    value = ldexp(float(8 + mantissa), int(exponent) - 10);
  out[i] = i >> 7 ? -value : value;
}
