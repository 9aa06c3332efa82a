#include <metal_stdlib>
using namespace metal;
constant int n = 1;
int three() { return 3; }
kernel void f(device float* x [[buffer(three())]]) {
  x[0] = n;
}
