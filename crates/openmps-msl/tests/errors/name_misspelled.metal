#include <metal_stdlib>
using namespace metal;
kernel void f(device float* input, device float* output, uint i [[thread_position_in_grid]]) {
  output[i] = inptu[i];
}
