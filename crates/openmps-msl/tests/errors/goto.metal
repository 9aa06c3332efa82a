#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
again:
  x[0]++;
  if (x[0] < 4) goto again;
}
