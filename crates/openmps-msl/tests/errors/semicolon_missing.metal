#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, uint i [[thread_position_in_grid]]) {
  float y = x[i] * 2.0
  x[i] = y;
}
