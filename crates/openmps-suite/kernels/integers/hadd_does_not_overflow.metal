// what: hadd and rhadd average without losing the carry
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// expect: np.stack([(a.astype(np.int64) + b) >> 1, (a.astype(np.int64) + b + 1) >> 1], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = hadd(a[i], b[i]);
  out[2 * i + 1] = rhadd(a[i], b[i]);
}
