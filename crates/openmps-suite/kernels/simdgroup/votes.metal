// what: simd_all and simd_any, when all, some or no lanes agree
// threads: 96
// out: np.zeros(96, np.int32)
// expect: np.repeat([3, 1, 0], 32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  uint group = i / 32;
  bool x = group == 0 || (group == 1 && lane == 20);
  out[i] = simd_any(x) + 2 * simd_all(x);
}
