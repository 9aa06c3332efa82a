// what: a 3 x 3 convolution with zero padding
// threads: (20, 15)
// group: (8, 8)
// out: np.zeros((15, 20), np.float32)
// in: rng.standard_normal((15, 20)).astype(np.float32)
// in: rng.standard_normal((3, 3)).astype(np.float32)
// let: p = np.pad(a, 1)
// expect: sum(b[y, x] * p[y:y + 15, x:x + 20] for y in range(3) for x in range(3))
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    constant float* weights,
    uint2 p [[thread_position_in_grid]]) {
  float sum = 0;
  for (int y = -1; y <= 1; y++)
    for (int x = -1; x <= 1; x++) {
      int2 at = int2(p) + int2(x, y);
      if (all(at >= 0) && at.x < 20 && at.y < 15) sum += weights[(y + 1) * 3 + x + 1] * a[at.y * 20 + at.x];
    }
  out[p.y * 20 + p.x] = sum;
}
