#include <metal_stdlib>
using namespace metal;
kernel void f(device float4* x, constant float3x3& m) {
  x[0] = m * x[0];
}
