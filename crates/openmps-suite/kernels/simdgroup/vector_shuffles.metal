// what: shuffles and sums of float4 and int2
// threads: 32
// out: np.zeros((32, 4), np.float32)
// in: rng.integers(-50, 50, (32, 4)).astype(np.float32)
// expect: a[::-1] + a.sum(0)
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = simd_shuffle_xor(a[i], 31) + simd_sum(a[i]);
}
