#include <metal_stdlib>
using namespace metal;
#define ADD(a, b) ((a) + (b))
kernel void f(device float* x) {
  x[0] = ADD(1);
}
