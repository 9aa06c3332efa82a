// what: a private array of vectors with run-time indices
// threads: 32
// out: np.zeros((32, 2), np.float32)
// in: rng.standard_normal((4, 2)).astype(np.float32)
// expect: a[np.arange(32) * 7 % 4] + a[3]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float2* a, uint i [[thread_position_in_grid]]) {
  float2 table[4];
  for (int k = 0; k < 4; k++) table[k] = a[k];
  out[i] = table[i * 7 % 4] + table[3];
}
