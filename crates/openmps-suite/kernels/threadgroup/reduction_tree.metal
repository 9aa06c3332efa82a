// what: a sum by halving, with a barrier for each level
// threads: 512
// group: 128
// out: np.zeros(4, np.float32)
// in: rng.standard_normal(512).astype(np.float32)
// expect: a.reshape(4, 128).sum(1)
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup float shared[128];
  shared[t] = a[i];
  for (uint half_size = 64; half_size > 0; half_size /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < half_size) shared[t] += shared[t + half_size];
  }
  if (t == 0) out[g] = shared[0];
}
