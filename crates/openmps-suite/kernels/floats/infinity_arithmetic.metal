// what: infinities add, subtract and multiply as IEEE says
// out: np.zeros(6, np.float32)
// in: np.array([np.inf, 3.0], np.float32)
// expect: [np.inf, np.nan, np.nan, -np.inf, 0, np.nan]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  float inf = a[0], x = a[1];
  out[0] = inf + x;
  out[1] = inf - inf;
  out[2] = inf * (x - x);
  out[3] = x - inf;
  out[4] = x / inf;
  out[5] = inf / inf;
}
