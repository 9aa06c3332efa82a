// what: SIMD-group index, lane and count in a two-dimensional group
// threads: (16, 8)
// group: (16, 8)
// out: np.zeros((128, 3), np.int32)
// expect: [[t // 32, t % 32, 4] for t in range(128)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device packed_int3* out,
    uint t [[thread_index_in_threadgroup]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint groups [[simdgroups_per_threadgroup]]) {
  out[t] = int3(sg, lane, groups);
}
