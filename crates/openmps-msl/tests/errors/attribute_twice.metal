#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x [[buffer(0)]] [[buffer(1)]]) {
  x[0] = 1;
}
