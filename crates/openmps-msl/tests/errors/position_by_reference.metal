#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, constant uint& i [[thread_position_in_grid]]) {
  x[i] = 1;
}
