// what: single components stored to device memory leave the others alone
// threads: 4
// out: np.full((4, 4), -1, np.float32)
// expect: [[7, -1, -1, -1], [-1, 7, -1, -1], [-1, -1, 7, -1], [-1, -1, -1, 7]]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, uint i [[thread_position_in_grid]]) {
  switch (i) {
    case 0: out[i].x = 7; break;
    case 1: out[i].y = 7; break;
    case 2: out[i].z = 7; break;
    default: out[i].w = 7;
  }
}
