// what: fma keeps the product exact, a separate product and sum do not
// threads: 64
// out: np.zeros(64, np.float32)
// in: (1 + rng.integers(1, 4096, 64) / 2**23).astype(np.float32)
// expect: (a.astype(np.float64) * a - (a * a).astype(np.float64)).astype(np.float32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float product = a[i] * a[i];
  out[i] = fma(a[i], a[i], -product);
}
