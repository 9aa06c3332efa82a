// what: exp, exp2, exp10, log, log2, log10, pow, powr
// threads: 64
// out: np.zeros((64, 8), np.float32)
// in: np.linspace(0.1, 4, 64, dtype=np.float32)
// expect: np.stack([np.exp(a), np.exp2(a), 10.0**a, np.log(a), np.log2(a), np.log10(a), a.astype(np.float64)**1.7, a.astype(np.float64)**-0.3], 1)
// tolerance: 4e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  float x = in[i];
  device float* o = out + 8 * i;
  o[0] = exp(x);
  o[1] = exp2(x);
  o[2] = exp10(x);
  o[3] = log(x);
  o[4] = log2(x);
  o[5] = log10(x);
  o[6] = pow(x, 1.7f);
  o[7] = powr(x, -0.3f);
}
