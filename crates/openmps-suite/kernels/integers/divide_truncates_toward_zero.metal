// what: signed division and remainder round toward zero
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-1000, 1000, 64).astype(np.int32)
// in: (rng.integers(1, 50, 64) * rng.choice([-1, 1], 64)).astype(np.int32)
// expect: np.stack([np.trunc(a / b), a - b * np.trunc(a / b)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] / b[i];
  out[2 * i + 1] = a[i] % b[i];
}
