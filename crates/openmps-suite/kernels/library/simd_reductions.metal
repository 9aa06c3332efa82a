// what: simd_sum, product, min, max over float and integers
// threads: 64
// out: np.zeros((64, 6), np.float32)
// in: np.arange(64, dtype=np.float32)
// expect: (lambda r: np.stack([np.repeat(v, 32) for v in (r.sum(1), np.ones(2) * 2.0**32, r.min(1), r.max(1), r.sum(1), r.min(1) - 40)], 1))(a.reshape(2, 32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in, uint i [[thread_position_in_grid]]) {
  device float* o = out + 6 * i;
  o[0] = simd_sum(in[i]);
  o[1] = simd_product(in[i] * 0 + 2);
  o[2] = simd_min(in[i]);
  o[3] = simd_max(in[i]);
  o[4] = simd_sum(i);
  o[5] = simd_min(int(i) - 40);
}
