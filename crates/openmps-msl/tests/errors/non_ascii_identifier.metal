#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  float π = 3.14;
  x[0] = π + § 1;
}
