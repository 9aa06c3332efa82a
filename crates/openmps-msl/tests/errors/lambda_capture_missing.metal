#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  float y = 1;
  auto g = [](float a) { return a + y; };
  x[0] = g(1);
}
