// what: clz and ctz of zero give the number of bits
// out: np.zeros(8, np.int32)
// expect: [8, 16, 32, 64, 8, 16, 32, 64]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[0] = clz(uchar(i));
  out[1] = clz(ushort(i));
  out[2] = clz(uint(i));
  out[3] = int(clz(ulong(i)));
  out[4] = ctz(uchar(i));
  out[5] = ctz(ushort(i));
  out[6] = ctz(uint(i));
  out[7] = int(ctz(ulong(i)));
}
