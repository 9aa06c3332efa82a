// what: unsigned division of numbers whose top bit is set
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**31, 0, 64).astype(np.int32)
// in: rng.integers(1, 2**16, 64).astype(np.int32)
// expect: np.stack([a.view(np.uint32) // b.view(np.uint32), a.view(np.uint32) % b.view(np.uint32)], 1).ravel().view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device uint* out,
    device const uint* a,
    device const uint* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] / b[i];
  out[2 * i + 1] = a[i] % b[i];
}
