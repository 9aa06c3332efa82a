// what: threadgroup position and count, thread position in the group
// threads: (12, 6)
// group: (4, 3)
// out: np.zeros((6, 12), np.int32)
// let: y = np.arange(6)[:, None]
// let: x = np.arange(12)[None, :]
// expect: (y // 3 * 3 + x // 4) * 100 + y % 3 * 4 + x % 4
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint2 p [[thread_position_in_grid]],
    uint2 group [[threadgroup_position_in_grid]],
    uint2 groups [[threadgroups_per_grid]],
    uint2 at [[thread_position_in_threadgroup]],
    uint2 size [[threads_per_threadgroup]]) {
  out[p.y * 12 + p.x] = (group.y * groups.x + group.x) * 100 + at.y * size.x + at.x;
}
