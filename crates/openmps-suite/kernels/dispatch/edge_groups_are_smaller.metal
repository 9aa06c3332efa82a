// what: threads_per_threadgroup at the edges, and the dispatched size
// threads: (10, 5)
// group: (4, 4)
// out: np.zeros((5, 10), np.int32)
// let: w = np.repeat([4, 4, 2], [4, 4, 2])
// let: h = np.repeat([4, 1], [4, 1])
// expect: w[None, :] * 1000 + h[:, None] * 100 + 44
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint2 p [[thread_position_in_grid]],
    uint2 size [[threads_per_threadgroup]],
    uint2 full [[dispatch_threads_per_threadgroup]]) {
  out[p.y * 10 + p.x] = size.x * 1000 + size.y * 100 + full.x * 10 + full.y;
}
