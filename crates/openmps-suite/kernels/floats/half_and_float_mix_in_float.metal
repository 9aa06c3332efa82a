// what: an operation on half and float is done in float
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.standard_normal(64).astype(np.float16)
// in: rng.standard_normal(64).astype(np.float32)
// expect: a.astype(np.float32) * b
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const half* a,
    device const float* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = a[i] * b[i];
}
