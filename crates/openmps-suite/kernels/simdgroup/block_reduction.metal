// what: SIMD-group sums combined by the first SIMD-group
// threads: 512
// group: 256
// out: np.zeros(2, np.float32)
// in: rng.integers(-20, 20, 512).astype(np.float32)
// expect: a.reshape(2, 256).sum(1)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float partial[8];
  float sum = simd_sum(a[i]);
  if (lane == 0) partial[sg] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (sg == 0) {
    float total = simd_sum(lane < 8 ? partial[lane] : 0);
    if (t == 0) out[g] = total;
  }
}
