// what: a 2x3 times a 4x2 matrix gives a 4x3
// threads: 4
// out: np.zeros((4, 4, 4), np.float32)
// in: rng.standard_normal((4, 2, 4)).astype(np.float32)
// in: rng.standard_normal((4, 4, 2)).astype(np.float32)
// let: product = np.einsum("nkr,nck->ncr", a[:, :, :3], b)
// expect: np.concatenate([product, np.zeros((4, 4, 1))], 2)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float4* out,
    device const float2x3* a,
    device const float4x2* b,
    uint i [[thread_position_in_grid]]) {
  float4x3 product = a[i] * b[i];
  for (int c = 0; c < 4; c++) out[4 * i + c] = float4(product[c], 0);
}
