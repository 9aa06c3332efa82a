#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) { x[0] = 1; }
kernel void f(device int* x) { x[0] = 1; }
