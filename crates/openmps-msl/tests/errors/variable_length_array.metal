#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x, constant int& n) {
  int t[n];
  t[0] = 1;
  x[0] = t[0];
}
