// what: insert_bits leaves the other bits alone
// threads: 64
// out: np.zeros(64, np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// in: rng.integers(-2**31, 2**31, 64).astype(np.int32)
// expect: (a & ~(0xff << 12)) | ((b & 0xff) << 12)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = insert_bits(a[i], b[i], 12, 8);
}
