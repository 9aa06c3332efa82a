#include <metal_stdlib>
using namespace metal;
threadgroup float shared_data[32];
kernel void f(device float* x) {
  x[0] = shared_data[0];
}
