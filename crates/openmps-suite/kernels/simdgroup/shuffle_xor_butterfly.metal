// what: a sum by five exchanges equals simd_sum
// threads: 64
// out: np.zeros(64, np.int32)
// in: rng.integers(-99, 99, 64).astype(np.int32)
// expect: np.repeat(a.reshape(2, 32).sum(1), 32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  int x = a[i];
  for (ushort mask = 16; mask > 0; mask /= 2) x += simd_shuffle_xor(x, mask);
  out[i] = x;
}
