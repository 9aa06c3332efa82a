// what: float division and square root are the nearest floats
// threads: 1000
// out: np.zeros(2000, np.float32)
// in: rng.uniform(0.1, 1e6, 1000).astype(np.float32)
// in: rng.uniform(0.1, 1e6, 1000).astype(np.float32)
// expect: np.stack([a / b, np.sqrt(a)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] / b[i];
  out[2 * i + 1] = sqrt(a[i]);
}
