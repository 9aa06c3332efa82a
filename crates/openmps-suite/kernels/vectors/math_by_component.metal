// what: exp, log and pow of vectors equal the scalar ones
// threads: 16
// out: np.zeros((16, 4), np.float32)
// in: rng.uniform(0.1, 4, (16, 4)).astype(np.float32)
// expect: np.exp(a) + np.log(a) * a ** 1.5
// tolerance: 2e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = exp(a[i]) + log(a[i]) * pow(a[i], 1.5f);
}
