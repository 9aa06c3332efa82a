// what: a bool vector occupies one byte for each component
// out: np.zeros(4, np.uint8)
// expect: [1, 0, 1, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device bool4* out, uint i [[thread_position_in_grid]]) {
  out[0] = bool4(true, i != 0, true, !(i != 0));
}
