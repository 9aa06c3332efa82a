// what: a grid of 13 x 7 threads in groups of 4 x 4
// threads: (13, 7)
// group: (4, 4)
// out: np.zeros((7, 13), np.int32)
// expect: np.arange(91).reshape(7, 13)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint2 p [[thread_position_in_grid]],
    uint2 size [[threads_per_grid]]) {
  out[p.y * size.x + p.x] = p.y * size.x + p.x;
}
