// what: bool4 buffers hold a byte for each component
// threads: 4
// out: np.zeros((4, 4), np.int8)
// in: rng.integers(0, 2, (4, 4)).astype(np.int8)
// expect: 1 - a
#include <metal_stdlib>
using namespace metal;

kernel void test(device bool4* out, device const bool4* a, uint i [[thread_position_in_grid]]) {
  out[i] = !a[i];
}
