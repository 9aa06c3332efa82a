// what: shuffle_up and shuffle_down where the source lane exists
// threads: 32
// out: np.zeros((32, 2), np.int32)
// expect: (lambda i: np.stack([np.where(i >= 4, i - 4, -1), np.where(i < 28, i + 4, -1)], 1))(np.arange(32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int up = simd_shuffle_up(int(i), 4), down = simd_shuffle_down(int(i), 4);
  out[2 * i] = i >= 4 ? up : -1;
  out[2 * i + 1] = i < 28 ? down : -1;
}
