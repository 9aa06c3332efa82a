// what: a matrix transposed through a padded tile
// threads: (64, 32)
// group: (16, 16)
// out: np.zeros((64, 32), np.float32)
// in: rng.standard_normal((32, 64)).astype(np.float32)
// expect: a.T
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    uint2 t [[thread_position_in_threadgroup]],
    uint2 g [[threadgroup_position_in_grid]]) {
  threadgroup float tile[16][17];
  uint2 from = g * 16 + t;
  tile[t.y][t.x] = a[from.y * 64 + from.x];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint2 to = g.yx * 16 + t;
  out[to.y * 32 + to.x] = tile[t.x][t.y];
}
