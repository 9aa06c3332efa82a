// what: a loop of remainders whose length differs from thread to thread
// threads: 128
// out: np.zeros(128, np.int32)
// in: rng.integers(1, 10**6, 128).astype(np.int32)
// in: rng.integers(1, 10**6, 128).astype(np.int32)
// expect: np.gcd(a, b)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  int x = a[i], y = b[i];
  while (y != 0) {
    int rest = x % y;
    x = y;
    y = rest;
  }
  out[i] = x;
}
