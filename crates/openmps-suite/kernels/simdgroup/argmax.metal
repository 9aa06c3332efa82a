// what: the greatest value and its lowest index
// threads: 96
// out: np.zeros(96, np.int32)
// in: rng.integers(0, 20, 96).astype(np.float32)
// expect: np.repeat(a.reshape(3, 32).argmax(1), 32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const float* a,
    uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  float largest = simd_max(a[i]);
  out[i] = simd_min(a[i] == largest ? lane : 32u);
}
