// what: the nearest of eight centres for each point
// threads: 100
// out: np.zeros(100, np.int32)
// in: rng.standard_normal((100, 2)).astype(np.float32)
// in: rng.standard_normal((8, 2)).astype(np.float32)
// expect: ((a[:, None] - b[None]) ** 2).sum(2).argmin(1)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const float2* a,
    constant float2* b,
    uint i [[thread_position_in_grid]]) {
  int best = 0;
  float smallest = INFINITY;
  for (int k = 0; k < 8; k++) {
    float distance = distance_squared(a[i], b[k]);
    if (distance < smallest) {
      smallest = distance;
      best = k;
    }
  }
  out[i] = best;
}
