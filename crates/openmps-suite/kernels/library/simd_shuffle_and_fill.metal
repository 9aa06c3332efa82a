// what: shuffle_and_fill_up and _down, whole SIMD-group and clusters of eight
// threads: 32
// out: np.zeros((32, 4), np.int32)
// expect: (lambda i: np.stack([np.where(i >= 2, i - 2, 100 + i + 30), np.where(i + 2 < 32, i + 2, 100 + i - 30), np.where(i % 8 >= 3, i - 3, 100 + i + 5), np.where(i % 8 < 5, i + 3, 100 + i - 5)], 1))(np.arange(32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int data = i, fill = 100 + i;
  out[4 * i + 0] = simd_shuffle_and_fill_up(data, fill, 2);
  out[4 * i + 1] = simd_shuffle_and_fill_down(data, fill, 2);
  out[4 * i + 2] = simd_shuffle_and_fill_up(data, fill, 3, 8);
  out[4 * i + 3] = simd_shuffle_and_fill_down(data, fill, 3, 8);
}
