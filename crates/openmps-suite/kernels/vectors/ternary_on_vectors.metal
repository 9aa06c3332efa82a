// what: ?: with a scalar condition picks whole vectors
// threads: 16
// out: np.zeros((16, 4), np.float32)
// in: rng.standard_normal((16, 4)).astype(np.float32)
// expect: np.where(np.arange(16)[:, None] % 3 == 0, a, -a)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = i % 3 == 0 ? a[i] : -a[i];
}
