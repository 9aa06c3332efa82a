// what: sums in the two sides of a branch
// threads: 64
// out: np.zeros(64, np.int32)
// in: rng.integers(-99, 99, 64).astype(np.int32)
// let: s = a.reshape(2, 32)
// let: odd = np.arange(32) % 2 == 1
// expect: np.where(odd, (s * odd).sum(1, keepdims=True), (s * ~odd).sum(1, keepdims=True)).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  if (i & 1)
    out[i] = simd_sum(a[i]);
  else
    out[i] = simd_sum(a[i]);
}
