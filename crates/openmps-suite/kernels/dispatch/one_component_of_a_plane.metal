// what: a uint position in a two-dimensional dispatch is the first component
// threads: (6, 3)
// group: (6, 3)
// out: np.zeros(6, np.int32)
// expect: np.arange(6)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = i;
}
