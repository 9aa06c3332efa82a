#include <metal_stdlib>
using namespace metal;
kernel void f(device char* x) {
  char t[1ul << 62];
  x[0] = t[0];
}
