// what: exactly one lane of those that are there is the first
// threads: 64
// out: np.zeros(64, np.int32)
// expect: [t % 32 == 3 for t in range(64)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  out[i] = 0;
  if (lane >= 3) out[i] = simd_is_first();
}
