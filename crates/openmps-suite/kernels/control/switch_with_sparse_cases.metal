// what: case values far apart and negative
// threads: 5
// out: np.zeros(5, np.int32)
// in: np.array([-100000, 7, 1000000, 8, -1], np.int32)
// expect: [1, 2, 3, 0, 4]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  switch (a[i]) {
    case -100000: out[i] = 1; return;
    case 7: out[i] = 2; return;
    case 1000000: out[i] = 3; return;
    case -1: out[i] = 4; return;
  }
}
