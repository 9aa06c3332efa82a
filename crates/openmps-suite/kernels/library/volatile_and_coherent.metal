// what: volatile and coherent qualifiers
// out: np.array([1, 0], np.int32)
// expect: [3, 3]
#include <metal_stdlib>
using namespace metal;

kernel void test(volatile coherent(device) device int* out, uint i [[thread_position_in_grid]]) {
  out[0] += 2;
  out[1] = out[0];
}
