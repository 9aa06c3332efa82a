// what: integers convert to the nearest float or half
// out: np.zeros(4, np.float32)
// in: np.array([16777217, -3, 2**62 + 1], np.int64)
// expect: [16777216, -3, 4611686018427387904, 2048]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const long* in) {
  out[0] = in[0];
  out[1] = float(int(in[1]));
  out[2] = float(in[2]);
  out[3] = half(2049);
}
