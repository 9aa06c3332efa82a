#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, uint4 i [[thread_position_in_grid]]) {
  x[i.x] = 1;
}
