// what: a dispatch whose last threadgroup is not full
// threads: 100
// group: 64
// out: np.zeros(100, np.int32)
// expect: [63] * 64 + [35] * 36
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint size [[threads_per_threadgroup]]) {
  threadgroup int last;
  if (t == size - 1) last = t;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = last;
}
