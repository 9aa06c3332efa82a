// what: 31 - clz is the base-2 logarithm, rounded down
// threads: 256
// out: np.zeros(256, np.int32)
// in: rng.integers(1, 2**31, 256).astype(np.int32)
// expect: np.array([int(x).bit_length() - 1 for x in a])
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const uint* a, uint i [[thread_position_in_grid]]) {
  out[i] = 31 - int(clz(a[i]));
}
