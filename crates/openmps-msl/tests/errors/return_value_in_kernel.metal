#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  return x[0];
}
