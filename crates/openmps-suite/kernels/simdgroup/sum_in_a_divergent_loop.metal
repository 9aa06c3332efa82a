// what: lanes leave a loop one by one, the sum covers those that remain
// threads: 32
// out: np.zeros(32, np.int32)
// expect: [sum(32 - k for k in range(t + 1)) for t in range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int total = 0;
  for (uint k = 0; k <= i; k++) total += simd_sum(1);
  out[i] = total;
}
