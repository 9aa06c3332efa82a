#include <metal_stdlib>
using namespace metal;
struct S {
  kernel void f(device float* x) { x[0] = 1; }
};
