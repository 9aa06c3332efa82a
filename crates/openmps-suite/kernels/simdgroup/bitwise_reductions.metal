// what: simd_and, simd_or and simd_xor
// threads: 64
// out: np.zeros((64, 4), np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// let: s = a.reshape(2, 32)
// let: rows = np.stack([np.bitwise_and.reduce(s | 1, 1), np.bitwise_or.reduce(s & 0xff, 1), np.bitwise_xor.reduce(s, 1), [0, 0]], 1)
// expect: np.repeat(rows, 32, 0)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = int4(simd_and(a[i] | 1), simd_or(a[i] & 0xff), simd_xor(a[i]), 0);
}
