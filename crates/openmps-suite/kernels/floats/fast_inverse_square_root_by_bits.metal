// what: the bit trick for 1/sqrt, with one Newton step
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.uniform(0.01, 1000, 64).astype(np.float32)
// expect: 1 / np.sqrt(a)
// tolerance: 2e-3
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float x = a[i];
  float y = as_type<float>(0x5f3759df - (as_type<int>(x) >> 1));
  out[i] = y * (1.5f - 0.5f * x * y * y);
}
