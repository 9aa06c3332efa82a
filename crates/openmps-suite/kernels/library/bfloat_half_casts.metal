// what: explicit conversions between half and bfloat, which clang lacks
// out: np.zeros(4, np.float32)
// in: np.array([1.0009765625], np.float16)
// expect: [1, 1, 1.5, 1.5]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const half* in) {
  bfloat b = static_cast<bfloat>(in[0]);
  out[0] = b;
  out[1] = bfloat(in[0]);
  bfloat x = 1.5bf;
  out[2] = half(x);
  out[3] = (half)x;
}
