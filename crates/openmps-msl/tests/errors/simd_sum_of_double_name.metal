#include <metal_stdlib>
using namespace metal;
kernel void f(device long* x, uint i [[thread_position_in_grid]]) {
  x[i] = simd_sum(x[i]);
}
