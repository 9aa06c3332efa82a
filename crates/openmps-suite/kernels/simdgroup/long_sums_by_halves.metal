// what: 64-bit sums from shuffles of 32-bit halves
// threads: 32
// out: np.zeros(32, np.int64)
// in: rng.integers(-2**50, 2**50, 32)
// expect: np.full(32, a.sum())
#include <metal_stdlib>
using namespace metal;

kernel void test(device long* out, device const long* a, uint i [[thread_position_in_grid]]) {
  long x = a[i];
  for (ushort mask = 16; mask > 0; mask /= 2) {
    uint2 halves = simd_shuffle_xor(as_type<uint2>(x), mask);
    x += as_type<long>(halves);
  }
  out[i] = x;
}
