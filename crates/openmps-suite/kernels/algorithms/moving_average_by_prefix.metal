// what: window sums from a scan kept in threadgroup memory
// threads: 128
// group: 128
// out: np.zeros(128, np.int32)
// in: rng.integers(0, 9, 128).astype(np.int32)
// expect: [a[max(0, t - 4):t + 1].sum() for t in range(128)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    uint i [[thread_position_in_grid]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup int sums[129], totals[4];
  int x = simd_prefix_inclusive_sum(a[i]);
  if (lane == 31) totals[sg] = x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 0; k < sg; k++) x += totals[k];
  sums[i + 1] = x;
  if (i == 0) sums[0] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = sums[i + 1] - sums[i < 4 ? 0 : i - 4];
}
