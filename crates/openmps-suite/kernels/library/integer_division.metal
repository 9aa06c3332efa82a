// what: truncating division and remainder, wrapping arithmetic, 64-bit products
// out: np.zeros(6, np.int64)
// in: np.array([-7, 2, 2**31 - 1], np.int32)
// expect: [-3, -1, -2**31, 4611686014132420609, 1, 4294967289 % 2]
#include <metal_stdlib>
using namespace metal;

kernel void test(device long* out, device const int* in) {
  out[0] = in[0] / in[1];
  out[1] = in[0] % in[1];
  out[2] = int(uint(in[2]) + 1);
  out[3] = long(in[2]) * in[2];
  out[4] = uint(in[0]) > 1u;
  out[5] = uint(in[0]) % uint(in[1]);
}
