#include <metal_stdlib>
using namespace metal;
constant float scale;
kernel void f(device float* x) {
  x[0] = scale;
}
