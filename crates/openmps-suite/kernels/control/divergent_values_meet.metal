// what: values chosen in different branches meet after them
// threads: 48
// out: np.zeros(48, np.int32)
// expect: [(t * 3 if t & 1 else t + 100) + (7 if t & 2 else t // 4) for t in range(48)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int x, y;
  if (i & 1)
    x = i * 3;
  else
    x = i + 100;
  if (i & 2)
    y = 7;
  else
    y = i / 4;
  out[i] = x + y;
}
