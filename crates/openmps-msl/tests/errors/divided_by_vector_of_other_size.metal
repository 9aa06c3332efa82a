#include <metal_stdlib>
using namespace metal;
kernel void f(device half2* x, device float2* y) {
  x[0] = y[0];
}
