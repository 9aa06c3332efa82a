#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, sampler s [[buffer(0)]]) {
  x[0] = 1;
}
