// what: reads and writes at indices from another buffer
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.standard_normal(64).astype(np.float32)
// in: rng.permutation(64).astype(np.int32)
// let: expected = np.zeros(64, np.float32)
// let: _ = expected.__setitem__(b, a[::-1])
// expect: expected
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[b[i]] = a[63 - i];
}
