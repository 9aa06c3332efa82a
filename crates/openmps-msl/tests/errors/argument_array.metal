#include <metal_stdlib>
using namespace metal;
kernel void f(device float x[4], float table[3], uint i [[thread_position_in_grid]]) {
  x[i] = table[i];
}
