// what: inclusive and exclusive prefix sums and products
// threads: 32
// out: np.zeros((32, 4), np.float32)
// in: np.where(np.arange(32) % 5 == 0, 2, 1).astype(np.float32)
// expect: np.stack([np.cumsum(a), np.cumsum(a) - a, np.cumprod(a), np.cumprod(a) / a], 1)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  out[4 * i + 0] = simd_prefix_inclusive_sum(in[i]);
  out[4 * i + 1] = simd_prefix_exclusive_sum(in[i]);
  out[4 * i + 2] = simd_prefix_inclusive_product(in[i]);
  out[4 * i + 3] = simd_prefix_exclusive_product(in[i]);
}
