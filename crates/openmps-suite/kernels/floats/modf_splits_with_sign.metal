// what: modf gives fraction and whole part with the number's sign
// threads: 64
// out: np.zeros(128, np.float32)
// in: rng.uniform(-1000, 1000, 64).astype(np.float32)
// expect: np.stack([a - np.trunc(a), np.trunc(a)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float whole;
  out[2 * i] = modf(a[i], whole);
  out[2 * i + 1] = whole;
}
