#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  static int n = 0;
  x[0] = n++;
}
