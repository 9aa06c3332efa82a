#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  x[0] = numeric_limits<float>::biggest();
}
