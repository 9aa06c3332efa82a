#include <metal_stdlib>
using namespace metal;
float g(float x) { return x; }
float g(float x) { return x + 1; }
kernel void f(device float* x) {
  x[0] = g(x[0]);
}
