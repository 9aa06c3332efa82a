// what: a tiled matrix product with two barriers a tile
// threads: (32, 32)
// group: (8, 8)
// out: np.zeros((32, 32), np.float32)
// in: rng.standard_normal((32, 40)).astype(np.float32)
// in: rng.standard_normal((40, 32)).astype(np.float32)
// expect: a @ b
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint2 p [[thread_position_in_grid]],
    uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float left[8][8], right[8][8];
  float sum = 0;
  for (uint k = 0; k < 40; k += 8) {
    left[t.y][t.x] = a[p.y * 40 + k + t.x];
    right[t.y][t.x] = b[(k + t.y) * 32 + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < 8; j++) sum += left[t.y][j] * right[j][t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[p.y * 32 + p.x] = sum;
}
