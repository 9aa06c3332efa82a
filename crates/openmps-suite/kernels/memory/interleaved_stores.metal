// what: each thread writes several neighbours
// threads: 32
// out: np.zeros(96, np.int32)
// expect: np.arange(96)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[3 * i] = 3 * i;
  out[3 * i + 1] = 3 * i + 1;
  out[3 * i + 2] = 3 * i + 2;
}
