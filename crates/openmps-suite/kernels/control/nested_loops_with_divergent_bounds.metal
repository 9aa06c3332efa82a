// what: inner bounds that depend on the outer counter and on the thread
// threads: 32
// out: np.zeros(32, np.int32)
// expect: [sum((x * y) for x in range(t % 7) for y in range(x, t % 11)) for t in range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int total = 0;
  for (int x = 0; x < int(i % 7); x++)
    for (int y = x; y < int(i % 11); y++) total += x * y;
  out[i] = total;
}
