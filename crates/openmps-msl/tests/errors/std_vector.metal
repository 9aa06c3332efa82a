#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  std::vector<float> v;
  x[0] = v[0];
}
