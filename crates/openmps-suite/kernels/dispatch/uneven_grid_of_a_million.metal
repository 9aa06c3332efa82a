// what: a grid that no group size divides
// threads: 1000003
// group: 256
// out: np.zeros(1000003, np.uint8)
// expect: np.arange(1000003) % 251
#include <metal_stdlib>
using namespace metal;

kernel void test(device uchar* out, uint i [[thread_position_in_grid]]) {
  out[i] = i % 251;
}
