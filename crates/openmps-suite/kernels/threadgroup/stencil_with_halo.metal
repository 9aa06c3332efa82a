// what: a stencil whose tile includes the neighbours of its ends
// threads: 256
// group: 64
// out: np.zeros(256, np.float32)
// in: rng.standard_normal(258).astype(np.float32)
// expect: a[:-2] + 2 * a[1:-1] + a[2:]
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup float tile[66];
  tile[t + 1] = a[i + 1];
  if (t == 0) tile[0] = a[i];
  if (t == 63) tile[65] = a[i + 2];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = tile[t] + 2 * tile[t + 1] + tile[t + 2];
}
