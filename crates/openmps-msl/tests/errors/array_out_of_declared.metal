#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  array<float, 4> a;
  a.push_back(1);
  x[0] = a[0];
}
