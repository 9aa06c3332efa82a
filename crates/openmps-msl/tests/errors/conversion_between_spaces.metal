#include <metal_stdlib>
using namespace metal;
void fill(threadgroup float* x) { x[0] = 0; }
kernel void f(device float* x) {
  fill(x);
}
