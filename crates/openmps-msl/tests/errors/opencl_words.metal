#include <metal_stdlib>
using namespace metal;
__kernel void f(__global float* x) {
  x[get_global_id(0)] = 1;
}
