// what: the macros for constants and limits
// out: np.zeros(6, np.float32)
// expect: [np.pi, np.e, np.inf, 3.4028234663852886e38, 65504, 2**-23]
// tolerance: 1e-7
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  out[0] = M_PI_F;
  out[1] = M_E_F;
  out[2] = INFINITY;
  out[3] = FLT_MAX;
  out[4] = MAXHALF;
  out[5] = FLT_EPSILON;
}
