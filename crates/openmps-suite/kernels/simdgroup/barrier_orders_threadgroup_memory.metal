// what: simdgroup_barrier between writes and reads of one SIMD-group
// threads: 128
// group: 128
// out: np.zeros(128, np.int32)
// expect: [t ^ 31 for t in range(128)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup int shared[128];
  shared[i] = i;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[32 * sg + (31 - lane)];
}
