// what: means and variances merged by shuffles of three values
// threads: 32
// out: np.zeros((32, 2), np.float32)
// in: rng.standard_normal((32, 10)).astype(np.float32)
// expect: np.tile([a.mean(), a.var()], (32, 1))
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

float3 merge(float3 x, float3 y) {
  float count = x.z + y.z, delta = y.x - x.x;
  return float3(x.x + delta * y.z / count, x.y + y.y + delta * delta * x.z * y.z / count, count);
}

kernel void test(device float2* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float3 state = float3(a[10 * i], 0, 1);
  for (int k = 1; k < 10; k++) state = merge(state, float3(a[10 * i + k], 0, 1));
  for (ushort mask = 1; mask < 32; mask *= 2) state = merge(state, simd_shuffle_xor(state, mask));
  out[i] = float2(state.x, state.y / state.z);
}
