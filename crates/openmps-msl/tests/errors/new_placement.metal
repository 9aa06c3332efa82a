#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  int* p = new int(3);
  x[0] = *p;
}
