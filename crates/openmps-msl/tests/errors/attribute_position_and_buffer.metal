#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, uint i [[thread_position_in_grid]] [[buffer(1)]]) {
  x[i] = 1;
}
