#include <metal_stdlib>
using namespace metal;
[[host_name]] kernel void f(device int* x) { x[0] = 1; }
