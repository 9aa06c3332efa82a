#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  if (x[0] > 1) break;
}
