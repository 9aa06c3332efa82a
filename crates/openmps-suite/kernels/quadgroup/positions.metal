// what: quadgroup index, lane and count
// threads: 48
// group: 48
// out: np.zeros((48, 3), np.int32)
// expect: [[t // 4, t % 4, 12] for t in range(48)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device packed_int3* out,
    uint t [[thread_index_in_threadgroup]],
    uint quad [[quadgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_quadgroup]],
    uint count [[quadgroups_per_threadgroup]]) {
  out[t] = int3(quad, lane, count);
}
