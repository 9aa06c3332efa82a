#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, device float4* y) {
  x[0] = y[0];
}
