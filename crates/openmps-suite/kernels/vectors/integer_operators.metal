// what: remainder, shifts and bit operations by component
// threads: 16
// out: np.zeros((16, 4), np.int32)
// in: rng.integers(0, 10000, (16, 4)).astype(np.int32)
// expect: ((a % 7) << 2) ^ (a & 0xf0)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, device const int4* a, uint i [[thread_position_in_grid]]) {
  out[i] = ((a[i] % 7) << 2) ^ (a[i] & 0xf0);
}
