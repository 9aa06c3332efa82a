#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  float a = 1;
  int a = 2;
  x[0] = a;
}
