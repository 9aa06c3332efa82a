// what: SIMD functions under a branch see only the threads that took it
// threads: 32
// out: np.zeros(32, np.int32)
// expect: np.where(np.arange(32) % 2 == 0, np.arange(0, 32, 2).sum(), np.arange(1, 32, 2).max())
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  if (i % 2 == 0)
    out[i] = simd_sum(int(i));
  else
    out[i] = simd_max(int(i));
}
