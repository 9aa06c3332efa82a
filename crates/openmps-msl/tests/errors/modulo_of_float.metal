#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  x[0] = x[1] % 2.0;
}
