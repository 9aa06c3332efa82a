#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, threadgroup float s) {
  x[0] = s;
}
