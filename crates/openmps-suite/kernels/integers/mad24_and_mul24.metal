// what: 24-bit products agree with full ones inside their range
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(-2**11, 2**11, 64).astype(np.int32)
// in: rng.integers(-2**11, 2**11, 64).astype(np.int32)
// expect: np.stack([a * b, a * b + 7], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = mul24(a[i], b[i]);
  out[2 * i + 1] = mad24(a[i], b[i], 7);
}
