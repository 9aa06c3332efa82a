#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  x[0] = (float)((double)x[0] * 3);
}
