// what: an image enlarged with bilinear weights and clamped edges
// threads: (12, 12)
// group: (12, 4)
// out: np.zeros((12, 12), np.float32)
// in: rng.standard_normal((6, 6)).astype(np.float32)
// let: s = np.clip((np.arange(12) + 0.5) / 2 - 0.5, 0, 5)
// let: lo = np.floor(s).astype(int)
// let: hi = np.minimum(lo + 1, 5)
// let: f = s - lo
// let: rows = a[lo] * (1 - f)[:, None] + a[hi] * f[:, None]
// expect: rows[:, lo] * (1 - f) + rows[:, hi] * f
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint2 p [[thread_position_in_grid]]) {
  float2 source = clamp((float2(p) + 0.5f) / 2 - 0.5f, 0.0f, 5.0f);
  int2 low = int2(source), high = min(low + 1, 5);
  float2 f = source - float2(low);
  float top = mix(a[low.y * 6 + low.x], a[low.y * 6 + high.x], f.x);
  float bottom = mix(a[high.y * 6 + low.x], a[high.y * 6 + high.x], f.x);
  out[p.y * 12 + p.x] = mix(top, bottom, f.y);
}
