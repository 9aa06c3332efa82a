#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  x[0] = *reinterpret_cast<threadgroup int*>(x);
}
