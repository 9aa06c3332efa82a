#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, bool flag [[buffer(1)]]) {
  if (flag) x[0] = 1;
}
