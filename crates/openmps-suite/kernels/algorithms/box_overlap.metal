// what: intersection over union of all pairs of boxes
// threads: (10, 10)
// group: (10, 10)
// out: np.zeros((10, 10), np.float32)
// in: np.concatenate([c := rng.uniform(0, 5, (10, 2)), c + rng.uniform(0.5, 3, (10, 2))], 1).astype(np.float32)
// let: lo = np.maximum(a[:, None, :2], a[None, :, :2])
// let: hi = np.minimum(a[:, None, 2:], a[None, :, 2:])
// let: inter = np.clip(hi - lo, 0, None).prod(2)
// let: area = (a[:, 2:] - a[:, :2]).prod(1)
// expect: inter / (area[:, None] + area[None] - inter)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

float area(float2 size) {
  size = max(size, 0.0f);
  return size.x * size.y;
}

kernel void test(device float* out, device const float4* a, uint2 p [[thread_position_in_grid]]) {
  float4 x = a[p.x], y = a[p.y];
  float common = area(min(x.zw, y.zw) - max(x.xy, y.xy));
  out[p.y * 10 + p.x] = common / (area(x.zw - x.xy) + area(y.zw - y.xy) - common);
}
