// what: vectors of 64-bit integers
// threads: 16
// out: np.zeros((16, 2), np.int64)
// in: rng.integers(-2**40, 2**40, (16, 2))
// expect: a * 3 - (a >> 5)
#include <metal_stdlib>
using namespace metal;

kernel void test(device long2* out, device const long2* a, uint i [[thread_position_in_grid]]) {
  out[i] = a[i] * 3 - (a[i] >> 5);
}
