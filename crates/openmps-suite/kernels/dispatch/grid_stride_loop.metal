// what: a loop that strides over more elements than threads
// threads: 64
// group: 32
// out: np.zeros(1000, np.int32)
// expect: np.arange(1000) * 3
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint grid [[threads_per_grid]]) {
  for (uint k = i; k < 1000; k += grid) out[k] = 3 * k;
}
