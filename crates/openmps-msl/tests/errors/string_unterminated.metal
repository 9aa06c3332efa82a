#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  constant char* s = "abc;
  x[0] = s[0];
}
