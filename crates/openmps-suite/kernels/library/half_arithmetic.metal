// what: half arithmetic rounds to half at each step
// out: np.zeros(4, np.float32)
// in: np.array([2048, 1, 1, 60000], np.float16)
// expect: [2048, 2050, np.inf, 0.333251953125]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const half* in) {
  half big = in[0], one = in[1];
  half s = big + one;
  out[0] = s;
  out[1] = float(big + (one + in[2]));
  half overflow = in[3] + in[3];
  out[2] = overflow;
  out[3] = one / 3.0h;
}
