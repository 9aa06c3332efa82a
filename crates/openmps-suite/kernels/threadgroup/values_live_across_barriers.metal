// what: private scalars, vectors and arrays keep their values over barriers
// threads: 40
// group: 40
// out: np.zeros(40, np.int32)
// expect: [t + 2 * t + 3 * t + (t * 7 % 4) + (39 - t) for t in range(40)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[40];
  int scalar = i;
  int2 pair = int2(2, 3) * int(i);
  int table[4] = {0, 1, 2, 3};
  shared[i] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int mirrored = shared[39 - i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = scalar + pair.x + pair.y + table[i * 7 % 4] + mirrored;
}
