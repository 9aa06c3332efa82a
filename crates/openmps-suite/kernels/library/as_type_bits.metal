// what: as_type between scalars and vectors of one size
// out: np.zeros(6, np.int32)
// in: np.array([1.0, -2.0], np.float32)
// expect: [0x3f800000, 0x3c00, 0x80, 0x3f, 0x40400000, 0x3f80]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const float* in) {
  out[0] = as_type<int>(in[0]);
  out[1] = as_type<ushort>(half(in[0]));
  uchar4 bytes = as_type<uchar4>(in[0]);
  out[2] = bytes.z;
  out[3] = bytes.w;
  out[4] = as_type<int>(as_type<float>(0x40400000u));
  out[5] = as_type<ushort>(bfloat(in[0]));
}
