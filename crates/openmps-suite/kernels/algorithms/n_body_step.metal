// what: accelerations between all pairs of bodies
// threads: 40
// out: np.zeros((40, 4), np.float32)
// in: rng.standard_normal((40, 4)).astype(np.float32)
// let: d = a[None, :, :3].astype(np.float64) - a[:, None, :3]
// let: r = (d ** 2).sum(2) + 0.1
// let: f = (d * (np.abs(a[None, :, 3]) / r ** 1.5)[:, :, None]).sum(1)
// expect: np.concatenate([f, np.zeros((40, 1))], 1)
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  float3 force = 0;
  for (uint k = 0; k < 40; k++) {
    float3 d = a[k].xyz - a[i].xyz;
    float r = dot(d, d) + 0.1f;
    force += d * (abs(a[k].w) * rsqrt(r * r * r));
  }
  out[i] = float4(force, 0);
}
