// what: simd_sum of float, equal on all lanes
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.standard_normal(64).astype(np.float32)
// expect: np.repeat(a.reshape(2, 32).sum(1), 32)
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[i] = simd_sum(a[i]);
}
