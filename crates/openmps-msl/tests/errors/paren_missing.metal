#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = max(x[i], 1.0f;
}
