#include <metal_stdlib>
using namespace metal;
double half_of(float x) { return x / 2; }
kernel void f(device float* x) {
  x[0] = half_of(x[0]);
}
