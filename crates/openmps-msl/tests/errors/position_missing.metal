#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, uint i) {
  x[i] = 1;
}
