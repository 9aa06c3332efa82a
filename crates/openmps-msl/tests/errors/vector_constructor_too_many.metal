#include <metal_stdlib>
using namespace metal;
kernel void f(device float2* x) {
  x[0] = float2(1, 2, 3);
}
