// what: increments inside && happen just when reached
// out: np.zeros(3, np.int32)
// expect: [1, 0, 2]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int x = 0, y = 0;
  if (x++ == 1 && y++ == 0) out[0] = -1;
  out[0] = x;
  out[1] = y;
  out[2] = (x++ == 1 || y++ == 0) ? x : -1;
}
