#include <metal_stdlib>
using namespace metal;
kernel void f(const device float* x) {
  const_cast<threadgroup float*>(x)[0] = 1;
}
