// what: unions, bit fields, enums, shifts, pointer arithmetic through casts
// out: np.zeros(6, np.int32)
// expect: [0x3f800000, 0x80, 5, 2, 0x04030201, -4]
#include <metal_stdlib>
using namespace metal;

union Bits {
  float f;
  uint u;
  uchar bytes[4];
};
enum class Color : uchar { red, green, blue };
struct Fields {
  uint low : 3;
  uint high : 5;
};

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  Bits b;
  b.f = 1;
  out[0] = b.u;
  out[1] = b.bytes[2];
  Fields f;
  f.low = 13 + i;
  f.high = 0;
  out[2] = f.low + f.high;
  out[3] = int(Color::blue);
  device uchar* bytes = (device uchar*)(out + 4);
  for (uchar k = 0; k < 4; k++) bytes[k] = k + 1;
  out[5] = (int(i) - 16) >> 2;
}
