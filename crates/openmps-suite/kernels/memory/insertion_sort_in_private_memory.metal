// what: sorting a private array, with data-dependent moves
// threads: 32
// out: np.zeros((32, 8), np.float32)
// in: rng.standard_normal((32, 8)).astype(np.float32)
// expect: np.sort(a, 1)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float values[8];
  for (int k = 0; k < 8; k++) {
    float x = a[8 * i + k];
    int at = k;
    while (at > 0 && values[at - 1] > x) {
      values[at] = values[at - 1];
      at--;
    }
    values[at] = x;
  }
  for (int k = 0; k < 8; k++) out[8 * i + k] = values[k];
}
