// what: a reduction by shuffle_down, whose result lane 0 has
// threads: 128
// out: np.zeros(4, np.float32)
// in: rng.integers(-8, 8, 128).astype(np.float32)
// expect: a.reshape(4, 32).sum(1)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float x = a[i];
  for (ushort delta = 16; delta > 0; delta >>= 1) x += simd_shuffle_down(x, delta);
  if (i % 32 == 0) out[i / 32] = x;
}
