#include <metal_stdlib>
using namespace metal;
float scale = 2;
kernel void f(device float* x) {
  x[0] = scale;
}
