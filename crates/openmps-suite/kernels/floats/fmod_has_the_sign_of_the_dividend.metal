// what: fmod is exact and keeps the first operand's sign
// threads: 128
// out: np.zeros(128, np.float32)
// in: rng.uniform(-100, 100, 128).astype(np.float32)
// in: rng.uniform(0.5, 7, 128).astype(np.float32)
// expect: np.fmod(a.astype(np.float64), b.astype(np.float64))
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = fmod(a[i], b[i]);
}
