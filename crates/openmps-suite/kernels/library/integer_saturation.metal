// what: addsat, subsat, mulhi, hadd, rhadd, absdiff, mad24, mul24, madsat, madhi
// out: np.zeros(12, np.int32)
// expect: [127, 0, 2147483647, 1, 2, 3, 7, 42, 47, 2147483647, 100, -128]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int z = int(i);
  out[0] = addsat(char(100 + z), char(100));
  out[1] = subsat(uchar(5 + z), uchar(9));
  out[2] = addsat(0x7fffffff, 1 + z);
  out[3] = mulhi(0x40000000 + z, 4);
  out[4] = hadd(2 + z, 3);
  out[5] = rhadd(2 + z, 3);
  out[6] = absdiff(3 + z, 10);
  out[7] = mul24(6 + z, 7);
  out[8] = mad24(6 + z, 7, 5);
  out[9] = madsat(0x10000 + z, 0x10000, 1);
  out[10] = madhi(0x10000 + z, 0x10000, 99);
  out[11] = madsat(char(-100 + z), char(2), char(50));
}
