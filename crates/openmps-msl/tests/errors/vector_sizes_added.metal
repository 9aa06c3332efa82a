#include <metal_stdlib>
using namespace metal;
kernel void f(device float4* x, device float3* y) {
  x[0] = x[0] + y[0];
}
