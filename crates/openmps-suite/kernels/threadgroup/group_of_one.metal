// what: barriers with one thread a group
// threads: 5
// group: 1
// out: np.zeros(5, np.int32)
// expect: [0, 2, 4, 6, 8]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup int shared;
  shared = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared + shared;
}
