#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  float* p = new float[4];
  x[0] = p[0];
  delete[] p;
}
