// what: determinants of 2x2, 3x3 and 4x4 matrices
// threads: 8
// out: np.zeros((8, 3), np.float32)
// in: rng.standard_normal((8, 4, 4)).astype(np.float32)
// expect: np.stack([np.linalg.det(a[:, :k, :k].astype(np.float64)) for k in (2, 3, 4)], 1)
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device packed_float3* out,
    device const float4x4* a,
    uint i [[thread_position_in_grid]]) {
  float4x4 m = a[i];
  float3x3 three(m[0].xyz, m[1].xyz, m[2].xyz);
  float2x2 two(m[0].xy, m[1].xy);
  out[i] = float3(determinant(two), determinant(three), determinant(m));
}
