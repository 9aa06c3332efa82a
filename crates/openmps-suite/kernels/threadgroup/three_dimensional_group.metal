// what: a group of 4 x 3 x 2 threads with linear indices
// threads: (8, 6, 4)
// group: (4, 3, 2)
// out: np.zeros((4, 6, 8), np.int32)
// let: y = np.arange(6)[None, :, None]
// let: x = np.arange(8)[None, None, :]
// expect: 23 - (x % 4 + y % 3 * 4 + np.arange(4)[:, None, None] % 2 * 12)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint3 p [[thread_position_in_grid]],
    uint3 at [[thread_position_in_threadgroup]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup int shared[24];
  shared[23 - t] = at.x + 4 * at.y + 12 * at.z;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[(p.z * 6 + p.y) * 8 + p.x] = shared[t];
}
