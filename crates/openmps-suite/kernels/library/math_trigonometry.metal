// what: trigonometric functions, their inverses, and those of pi
// threads: 64
// out: np.zeros((64, 12), np.float32)
// in: np.linspace(-0.95, 0.95, 64, dtype=np.float32)
// expect: (lambda x: np.stack([np.sin(x), np.cos(x), np.tan(x), np.arcsin(x), np.arccos(x), np.arctan(x), np.arctan2(x, 0.5), np.sin(np.pi * x), np.cos(np.pi * x), np.tan(np.pi * x / 4), np.sin(x), np.cos(x)], 1))(a.astype(np.float64))
// tolerance: 4e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  float x = in[i];
  device float* o = out + 12 * i;
  o[0] = sin(x);
  o[1] = cos(x);
  o[2] = tan(x);
  o[3] = asin(x);
  o[4] = acos(x);
  o[5] = atan(x);
  o[6] = atan2(x, 0.5f);
  o[7] = sinpi(x);
  o[8] = cospi(x);
  o[9] = tanpi(x / 4);
  float c;
  o[10] = sincos(x, c);
  o[11] = c;
}
