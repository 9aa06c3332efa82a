// what: simd_and, simd_or, simd_xor
// threads: 32
// out: np.zeros((32, 3), np.int32)
// expect: np.tile([64, 95, np.bitwise_xor.reduce(np.arange(1, 33) | 64)], (32, 1)) | [[0, 32, 0]]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  uint v = (i + 1) | 64;
  out[3 * i + 0] = simd_and(v);
  out[3 * i + 1] = simd_or(v);
  out[3 * i + 2] = simd_xor(v);
}
