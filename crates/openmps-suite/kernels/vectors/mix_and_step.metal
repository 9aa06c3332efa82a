// what: mix, step and smoothstep by component, with scalar edges
// threads: 16
// out: np.zeros((16, 2), np.float32)
// in: rng.uniform(-1, 2, (16, 2)).astype(np.float32)
// let: t = np.clip(a, 0, 1)
// let: smooth = t * t * (3 - 2 * t)
// expect: 2 + (5 - 2) * smooth + (a >= 0.5)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float2* a, uint i [[thread_position_in_grid]]) {
  out[i] = mix(float2(2), float2(5), smoothstep(0.0f, 1.0f, a[i])) + step(0.5f, a[i]);
}
