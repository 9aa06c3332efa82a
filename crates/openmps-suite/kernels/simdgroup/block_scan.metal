// what: a scan of a whole threadgroup from SIMD-group scans
// threads: 256
// group: 256
// out: np.zeros(256, np.int32)
// in: rng.integers(-9, 9, 256).astype(np.int32)
// expect: np.cumsum(a)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    uint i [[thread_position_in_grid]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
  threadgroup int totals[8];
  int x = simd_prefix_inclusive_sum(a[i]);
  if (lane == 31) totals[sg] = x;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int before = 0;
  for (uint k = 0; k < sg; k++) before += totals[k];
  out[i] = before + x;
}
