#include <metal_stdlib>
using namespace metal;
float g(float a) { return a; }
kernel void f(device float* x) {
  x[0] = g(x[0], 1);
}
