// what: differences to the horizontal and vertical neighbour of a 2 x 2 quad
// threads: 32
// out: np.zeros((32, 2), np.float32)
// in: rng.standard_normal((8, 2, 2)).astype(np.float32)
// let: dx = np.repeat(a[:, :, 1:] - a[:, :, :1], 2, 2)
// let: dy = np.repeat(a[:, 1:, :] - a[:, :1, :], 2, 1)
// expect: np.stack([dx, dy], 3).reshape(32, 2)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float x = quad_shuffle_xor(a[i], 1), y = quad_shuffle_xor(a[i], 2);
  out[i] = float2(i & 1 ? a[i] - x : x - a[i], i & 2 ? a[i] - y : y - a[i]);
}
