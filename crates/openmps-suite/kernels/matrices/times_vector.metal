// what: matrix times column vector and row vector times matrix
// threads: 8
// out: np.zeros((8, 8), np.float32)
// in: rng.standard_normal((8, 4, 4)).astype(np.float32)
// in: rng.standard_normal((8, 4)).astype(np.float32)
// expect: np.concatenate([np.einsum("ncr,nc->nr", a, b), np.einsum("ncr,nr->nc", a, b)], 1)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float4* out,
    device const float4x4* a,
    device const float4* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = a[i] * b[i];
  out[2 * i + 1] = b[i] * a[i];
}
