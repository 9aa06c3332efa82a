// what: += -= *= /= with vectors and scalars
// threads: 8
// out: np.zeros((8, 2), np.float32)
// in: rng.uniform(1, 2, (8, 2)).astype(np.float32)
// expect: ((a + 1) * a - np.float32(0.5)) / 4
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float2* a, uint i [[thread_position_in_grid]]) {
  float2 v = a[i];
  v += 1;
  v *= a[i];
  v -= 0.5f;
  v /= 4;
  out[i] = v;
}
