#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  float y = 1;
  device float* p = &y;
  p[0] = x[0];
}
