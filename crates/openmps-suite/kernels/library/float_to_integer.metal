// what: out-of-range conversions saturate, NaN gives 0, otherwise truncation
// out: np.zeros(8, np.int32)
// in: np.array([3e9, -3e9, np.nan, -1.5, 300.7, 1.9], np.float32)
// expect: [2147483647, -2147483648, 0, -1, 0, 255, 1, 127]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* in) {
  out[0] = int(in[0]);
  out[1] = int(in[1]);
  out[2] = int(in[2]);
  out[3] = int(in[3]);
  out[4] = int(uint(in[3]));
  out[5] = uchar(in[4]);
  out[6] = short(in[5]);
  out[7] = int(char4(float4(in[4])).x);
}
