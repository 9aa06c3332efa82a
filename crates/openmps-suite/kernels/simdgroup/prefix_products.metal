// what: prefix products of float, exclusive starting from one
// threads: 32
// out: np.zeros(64, np.float32)
// in: rng.uniform(0.8, 1.25, 32).astype(np.float32)
// let: p = np.cumprod(a.astype(np.float64))
// expect: np.stack([p, np.concatenate([[1], p[:-1]])], 1).ravel()
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = simd_prefix_inclusive_product(a[i]);
  out[2 * i + 1] = simd_prefix_exclusive_product(a[i]);
}
