// what: one thread writes, all read after a barrier
// threads: 96
// group: 48
// out: np.zeros(96, np.int32)
// expect: np.repeat([1000, 1001], 48)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup int value;
  if (t == 17) value = 1000 + g;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = value;
}
