#include <metal_stdlib>
using namespace metal;
static kernel void f(device float* x) {
  x[0] = 1;
}
