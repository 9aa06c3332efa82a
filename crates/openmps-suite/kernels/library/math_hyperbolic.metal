// what: hyperbolic functions and their inverses
// threads: 64
// out: np.zeros((64, 6), np.float32)
// in: np.linspace(-0.9, 0.9, 64, dtype=np.float32)
// expect: (lambda x: np.stack([np.sinh(x), np.cosh(x), np.tanh(x), np.arcsinh(x), np.arccosh(x + 2), np.arctanh(x)], 1))(a.astype(np.float64))
// tolerance: 4e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  float x = in[i];
  device float* o = out + 6 * i;
  o[0] = sinh(x);
  o[1] = cosh(x);
  o[2] = tanh(x);
  o[3] = asinh(x);
  o[4] = acosh(x + 2);
  o[5] = atanh(x);
}
