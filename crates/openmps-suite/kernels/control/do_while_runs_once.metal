// what: do while tests after the body
// threads: 10
// out: np.zeros(10, np.int32)
// expect: [max(t, 1) for t in range(10)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int k = 0;
  do k++;
  while (k < int(i));
  out[i] = k;
}
