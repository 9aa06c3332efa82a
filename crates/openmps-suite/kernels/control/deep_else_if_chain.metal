// what: a long chain of conditions
// threads: 40
// out: np.zeros(40, np.int32)
// expect: [1 if t % 15 == 0 else 2 if t % 5 == 0 else 3 if t % 3 == 0 else 4 if t < 10 else 5 if t & 1 else 6 for t in range(40)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  if (i % 15 == 0)
    out[i] = 1;
  else if (i % 5 == 0)
    out[i] = 2;
  else if (i % 3 == 0)
    out[i] = 3;
  else if (i < 10)
    out[i] = 4;
  else if (i & 1)
    out[i] = 5;
  else
    out[i] = 6;
}
