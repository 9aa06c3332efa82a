#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, device int* n) {
  x[0] = sin(n[0]);
}
