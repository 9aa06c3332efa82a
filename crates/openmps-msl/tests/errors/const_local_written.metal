#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  const int n = 4;
  n = 5;
  x[0] = n;
}
