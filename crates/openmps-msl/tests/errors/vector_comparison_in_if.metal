#include <metal_stdlib>
using namespace metal;
kernel void f(device float4* x) {
  if (x[0] < x[1]) x[0] = x[1];
}
