#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, threadgroup float* s [[threadgroup(31)]]) {
  x[0] = s[0];
}
