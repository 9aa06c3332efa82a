#include <metal_stdlib>
using namespace metal;
float square(float x) { return x * x; }
kernel void f(device float* x) {
  x[0] = square(x);
}
