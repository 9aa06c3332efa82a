// what: SIMD functions on vectors and on half
// threads: 32
// out: np.zeros((32, 4), np.float32)
// expect: (lambda i: np.stack([0 * i + 496, 0 * i + 32, (i ^ 1) * 2, 0 * i + 31], 1))(np.arange(32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, uint i [[thread_position_in_grid]]) {
  float2 sums = simd_sum(float2(i, 1));
  half2 swapped = simd_shuffle_xor(half2(i * 2, i), 1);
  out[i] = float4(sums, swapped.x, simd_max(half(i)));
}
