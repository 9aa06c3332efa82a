// what: max_total_threads_per_threadgroup on a kernel that keeps to it
// threads: 128
// group: 64
// out: np.zeros(128, np.int32)
// expect: np.repeat([0, 1], 64)
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint g [[threadgroup_position_in_grid]]) {
  out[i] = g;
}
