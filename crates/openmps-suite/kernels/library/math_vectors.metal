// what: math functions on vectors, also with a scalar operand
// out: np.zeros(24, np.float32)
// in: np.array([0.5, 1, 1.5, 2], np.float32)
// expect: np.concatenate([np.exp(a), a**2, np.maximum(a, 1), np.clip(a, 0.75, 1.75), 3 * a + 1, np.sqrt(a)])
// tolerance: 2e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* in) {
  float4 v = in[0];
  out[0] = exp(v);
  out[1] = pow(v, 2.0f);
  out[2] = max(v, 1.0f);
  out[3] = clamp(v, 0.75f, 1.75f);
  out[4] = fma(v, float4(3), float4(1));
  out[5] = float4(sqrt(v.xy), sqrt(v.zw));
}
