#include <metal_stdlib>
using namespace metal;
kernel void f(device char* x) {
  char t[2 << 20];
  for (int i = 0; i < (2 << 20); i++) t[i] = x[i];
  x[0] = t[x[1]];
}
