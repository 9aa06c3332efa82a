// what: ten thousand threadgroups of one thread
// threads: 10000
// group: 1
// out: np.zeros(10000, np.int32)
// expect: np.arange(10000) ** 2
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = i * i;
}
