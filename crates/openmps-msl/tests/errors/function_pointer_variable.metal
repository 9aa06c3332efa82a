#include <metal_stdlib>
using namespace metal;
float g(float x) { return x; }
kernel void f(device float* x) {
  float (*p)(double) = g;
  x[0] = p(x[0]);
}
