#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  constant int n [[function_constant(0)]];
  x[0] = n;
}
