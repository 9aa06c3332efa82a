// what: prefix sums of int
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-99, 99, 64).astype(np.int32)
// let: s = np.cumsum(a.reshape(2, 32), 1).ravel()
// expect: np.stack([s, s - a], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = simd_prefix_inclusive_sum(a[i]);
  out[2 * i + 1] = simd_prefix_exclusive_sum(a[i]);
}
