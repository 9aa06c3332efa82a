#include <metal_stdlib>
using namespace metal;
float helper(float x);
kernel void f(device float* x) {
  x[0] = helper(x[0]);
}
