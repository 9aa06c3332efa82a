#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  threadgroup float s[32] = {0};
  x[0] = s[0];
}
