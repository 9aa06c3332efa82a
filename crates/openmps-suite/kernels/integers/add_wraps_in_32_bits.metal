// what: addition of int wraps around
// out: np.zeros(64, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// threads: 64
// expect: a + b
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = int(uint(a[i]) + uint(b[i]));
}
