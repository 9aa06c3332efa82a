// what: position and size of a one-dimensional grid
// threads: 50
// group: 16
// out: np.zeros((50, 2), np.int32)
// expect: [[t, 50] for t in range(50)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int2* out,
    uint i [[thread_position_in_grid]],
    uint grid [[threads_per_grid]]) {
  out[i] = int2(i, grid);
}
