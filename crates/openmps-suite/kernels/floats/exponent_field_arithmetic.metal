// what: scaling by powers of two through the exponent bits
// threads: 32
// out: np.zeros(32, np.float32)
// in: rng.uniform(1, 2, 32).astype(np.float32)
// expect: a * 2.0 ** (np.arange(32) - 16)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  int bits = as_type<int>(a[i]) + ((int(i) - 16) << 23);
  out[i] = as_type<float>(bits);
}
