#include <metal_stdlib>
using namespace metal;
float g(float x) {
  if (x > 0) return 1;
}
kernel void f(device float* x) {
  x[0] = g(x[0]) + y;
}
