#include <metal_stdlib>
using namespace metal;
int n [[function_constant(0)]];
kernel void f(device int* x) {
  x[0] = n;
}
