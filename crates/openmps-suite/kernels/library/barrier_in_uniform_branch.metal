// what: a barrier under a branch that all threads of the group take alike
// threads: 64
// group: 32
// out: np.zeros(64, np.int32)
// expect: np.concatenate([np.arange(32)[::-1], np.full(32, -1)])
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_position_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup int shared[32];
  int result = -1;
  if (g == 0) {
    shared[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    result = shared[31 - t];
  }
  out[i] = result;
}
