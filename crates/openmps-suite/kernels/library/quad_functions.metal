// what: quad_sum, quad_max, quad_broadcast, quad_shuffle_xor, quad_all
// threads: 32
// out: np.zeros((32, 5), np.int32)
// expect: (lambda i: np.stack([i // 4 * 16 + 6, i // 4 * 4 + 3, i // 4 * 4 + 2, i ^ 1, i // 4 == 2], 1))(np.arange(32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int v = i;
  out[5 * i + 0] = quad_sum(v);
  out[5 * i + 1] = quad_max(v);
  out[5 * i + 2] = quad_broadcast(v, 2);
  out[5 * i + 3] = quad_shuffle_xor(v, 1);
  out[5 * i + 4] = quad_all(i / 4 == 2);
}
