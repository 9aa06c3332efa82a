#include <metal_stdlib>
using namespace metal;
kernel void f(device float3* x, device float2* y) {
  x[0] = cross(y[0], y[1]);
}
