#include <metal_stdlib>
using namespace metal;
float g(float a, int b) { return a + b; }
float g(int a, float b) { return a - b; }
kernel void f(device float* x) {
  x[0] = g(1, 2);
}
