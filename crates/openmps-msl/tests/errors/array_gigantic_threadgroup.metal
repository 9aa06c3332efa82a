#include <metal_stdlib>
using namespace metal;
kernel void f(device char* x) {
  threadgroup char t[1ul << 40];
  t[0] = x[0];
  x[1] = t[1];
}
