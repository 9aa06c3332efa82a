#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, constant int& n) {
  threadgroup float s[n];
  x[0] = s[0];
}
