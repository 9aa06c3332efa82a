// what: 1024 threads in one group
// threads: 1024
// group: 1024
// out: np.zeros(1024, np.int32)
// expect: np.arange(1024)[::-1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[1024];
  shared[i] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[1023 - i];
}
