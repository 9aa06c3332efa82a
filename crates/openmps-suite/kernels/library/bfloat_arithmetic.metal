// what: bfloat conversions, arithmetic and comparison
// out: np.zeros(5, np.float32)
// in: np.array([1.0, 256.0, 3.0], np.float32)
// expect: [256, 3, 0.333984375, 1, 1.5]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in) {
  bfloat one = bfloat(in[0]), big = bfloat(in[1]), three = bfloat(in[2]);
  bfloat sum = big + one;
  out[0] = float(sum);
  out[1] = three;
  bfloat third = one / three;
  out[2] = third;
  out[3] = one < three;
  out[4] = 1.5bf;
}
