#include <metal_stdlib>
using namespace metal;
kernel void f(device half* x, device bfloat* y) {
  y[0] = x[0];
}
