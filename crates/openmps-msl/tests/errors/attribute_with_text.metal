#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x [[buffer("zero")]]) {
  x[0] = 1;
}
