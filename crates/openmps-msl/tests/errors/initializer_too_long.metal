#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  float t[2] = {1, 2, 3};
  x[0] = t[0];
}
