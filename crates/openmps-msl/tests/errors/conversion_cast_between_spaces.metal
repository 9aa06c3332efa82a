#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  threadgroup float* p = (threadgroup float*)x;
  p[0] = 1;
}
