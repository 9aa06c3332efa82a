// what: shuffle, shuffle_xor, broadcast, rotations; only defined lanes are compared
// threads: 32
// out: np.zeros((32, 6), np.int32)
// expect: (lambda i: np.stack([10 * (31 - i), 10 * (i ^ 5), 0 * i + 70, 10 * ((i + 3) % 32), 10 * ((i - 3) % 32), 0 * i], 1))(np.arange(32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int v = 10 * i;
  out[6 * i + 0] = simd_shuffle(v, 31 - i);
  out[6 * i + 1] = simd_shuffle_xor(v, 5);
  out[6 * i + 2] = simd_broadcast(v, 7);
  out[6 * i + 3] = simd_shuffle_rotate_down(v, 3);
  out[6 * i + 4] = simd_shuffle_rotate_up(v, 3);
  out[6 * i + 5] = simd_broadcast_first(v);
}
