// what: cases without break run on
// threads: 6
// out: np.zeros(6, np.int32)
// expect: [7, 6, 4, 100, 100, 8]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int x = 0;
  switch (i) {
    case 0: x += 1;
    case 1: x += 2;
    case 2: x += 4; break;
    case 5: x = 8; break;
    default: x = 100;
  }
  out[i] = x;
}
