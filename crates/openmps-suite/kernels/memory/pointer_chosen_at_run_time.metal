// what: one of two buffers, chosen by the thread
// threads: 32
// out: np.zeros(32, np.int32)
// in: rng.integers(0, 99, 32).astype(np.int32)
// in: rng.integers(100, 199, 32).astype(np.int32)
// expect: np.where(np.arange(32) % 3 == 0, b, a)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  device const int* p = a;
  if (i % 3 == 0) p = b;
  out[i] = p[i];
}
