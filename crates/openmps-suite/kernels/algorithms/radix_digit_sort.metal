// what: a stable sort of 4-bit digits by counts and ranks
// threads: 64
// group: 64
// out: np.zeros(64, np.int32)
// in: rng.integers(0, 1000, 64).astype(np.int32)
// expect: a[np.argsort(a % 16, kind="stable")]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  threadgroup int digits[64];
  digits[i] = a[i] % 16;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int rank = 0;
  for (uint k = 0; k < 64; k++) rank += digits[k] < digits[i] || (digits[k] == digits[i] && k < i);
  out[rank] = a[i];
}
