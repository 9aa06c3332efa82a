// what: clamp to a range, saturate to 0 and 1
// threads: 64
// out: np.zeros(128, np.float32)
// in: rng.uniform(-3, 3, 64).astype(np.float32)
// expect: np.stack([np.clip(a, -0.5, 2), np.clip(a, 0, 1)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = clamp(a[i], -0.5f, 2.0f);
  out[2 * i + 1] = saturate(a[i]);
}
