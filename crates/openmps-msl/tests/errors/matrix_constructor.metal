#include <metal_stdlib>
using namespace metal;
kernel void f(device float4* x) {
  float4x4 m = float4x4(1, 2, 3);
  x[0] = m[0];
}
