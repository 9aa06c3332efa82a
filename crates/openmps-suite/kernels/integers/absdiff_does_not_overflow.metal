// what: absdiff of the extremes fits the unsigned result
// threads: 64
// out: np.zeros(64, np.int64)
// in: np.concatenate([[-2**31, 2**31 - 1], rng.integers(-2**31, 2**31, 62)]).astype(np.int32)
// in: np.concatenate([[2**31 - 1, -2**31], rng.integers(-2**31, 2**31, 62)]).astype(np.int32)
// expect: abs(a.astype(np.int64) - b)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device long* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = long(uint(absdiff(a[i], b[i])));
}
