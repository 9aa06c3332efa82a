// what: dot, length, length_squared and distance
// threads: 16
// out: np.zeros((16, 4), np.float32)
// in: rng.standard_normal((16, 4)).astype(np.float32)
// in: rng.standard_normal((16, 4)).astype(np.float32)
// expect: np.stack([(a * b).sum(1), np.linalg.norm(a, axis=1), (a * a).sum(1), np.linalg.norm(a - b, axis=1)], 1)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float4* out,
    device const float4* a,
    device const float4* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = float4(dot(a[i], b[i]), length(a[i]), length_squared(a[i]), distance(a[i], b[i]));
}
