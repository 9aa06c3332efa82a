// A buffer is no texture.
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x [[texture(0)]]) { x[0] = 1; }
