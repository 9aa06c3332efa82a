// what: braced lists, copies and conversions between integer vectors
// out: np.zeros(12, np.int32)
// expect: [1, 2, 3, 4, 255, 0, 1, 2, -1, 0, 1, 2]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, uint i [[thread_position_in_grid]]) {
  uint4 v = {i + 1, 2, 3, 4};
  out[0] = int4(v);
  uchar4 c(char4(-1, 0, 1, 2));
  out[1] = int4(c);
  out[2] = int4(char4(c));
}
