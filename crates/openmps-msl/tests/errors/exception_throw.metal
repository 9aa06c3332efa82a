#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  if (x[0] < 0) throw 1;
}
