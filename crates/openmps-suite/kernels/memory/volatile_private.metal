// what: a volatile variable is read each time
// threads: 8
// out: np.zeros(8, np.int32)
// expect: [3 * t for t in range(8)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  volatile int x = i;
  x = x + x;
  out[i] = x + int(i);
}
