// what: SIMD-group 0 fills a queue that the others drain after the barrier
// threads: 128
// group: 128
// out: np.zeros(128, np.int32)
// expect: [0] * 32 + [(t * 3) ** 2 for t in range(96)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint t [[thread_index_in_threadgroup]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup int queue[96];
  if (sg == 0)
    for (uint k = lane; k < 96; k += 32) queue[k] = (k * 3) * (k * 3);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (sg != 0) out[t] = queue[t - 32];
}
