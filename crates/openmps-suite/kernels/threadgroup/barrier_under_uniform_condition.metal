// what: barriers in a branch that the whole group takes or not
// threads: 128
// group: 32
// out: np.zeros(128, np.int32)
// expect: [(31 - t % 32 if t // 32 % 2 else t % 32) for t in range(128)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup int shared[32];
  int result = t;
  if (g % 2 == 1) {
    shared[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    result = shared[31 - t];
  }
  out[i] = result;
}
