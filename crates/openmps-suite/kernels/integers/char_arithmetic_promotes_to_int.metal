// what: sums of char are computed in int and narrowed by the store
// threads: 64
// out: np.zeros(64, np.int32)
// in: rng.integers(-128, 128, 64).astype(np.int8)
// in: rng.integers(-128, 128, 64).astype(np.int8)
// expect: a.astype(np.int32) * b + 1
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const char* a,
    device const char* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = a[i] * b[i] + 1;
}
