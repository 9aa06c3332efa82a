// what: isnan, isinf, isfinite, isnormal, signbit, isordered, isunordered
// out: np.zeros(12, np.int32)
// in: np.array([np.nan, np.inf, -0.0, 1e-40, 1.0], np.float32)
// expect: [1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* in) {
  out[0] = isnan(in[0]);
  out[1] = isnan(in[1]);
  out[2] = isinf(in[1]);
  out[3] = isinf(in[0]);
  out[4] = isfinite(in[0]);
  out[5] = isfinite(in[4]);
  out[6] = signbit(in[2]);
  out[7] = signbit(in[4]);
  out[8] = isordered(in[0], in[4]);
  out[9] = isunordered(in[0], in[4]);
  out[10] = any(isnan(float2(in[1], in[4])));
  out[11] = isnormal(half(1));
}
