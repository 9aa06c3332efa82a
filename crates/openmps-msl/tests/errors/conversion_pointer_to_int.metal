#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  int p = x;
  x[0] = p;
}
