// what: frexp splits a number so that ldexp gives it back
// threads: 128
// out: np.zeros(384, np.float32)
// in: (rng.standard_normal(128) * 10.0 ** rng.integers(-30, 30, 128)).astype(np.float32)
// expect: np.stack([np.frexp(a)[0], np.frexp(a)[1], a], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  int exponent;
  float mantissa = frexp(a[i], exponent);
  out[3 * i] = mantissa;
  out[3 * i + 1] = exponent;
  out[3 * i + 2] = ldexp(mantissa, exponent);
}
