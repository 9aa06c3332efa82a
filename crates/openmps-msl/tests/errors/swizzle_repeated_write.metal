#include <metal_stdlib>
using namespace metal;
kernel void f(device float4* x) {
  x[0].xx = float2(1, 2);
}
