#include <metal_stdlib>
using namespace metal;
kernel void f(float* x) {
  x[0] = 1;
}
