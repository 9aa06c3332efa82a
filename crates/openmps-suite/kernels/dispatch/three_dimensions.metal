// what: a grid of 5 x 4 x 3 threads
// threads: (5, 4, 3)
// group: (2, 2, 2)
// out: np.zeros((3, 4, 5), np.int32)
// expect: np.arange(3)[:, None, None] * 100 + np.arange(4)[None, :, None] * 10 + np.arange(5)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint3 p [[thread_position_in_grid]],
    uint3 size [[threads_per_grid]]) {
  out[(p.z * size.y + p.y) * size.x + p.x] = p.z * 100 + p.y * 10 + p.x;
}
