#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  constexpr int n = x[0];
  x[1] = n;
}
