#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  void* p = &&there;
  goto *p;
there:
  x[0] = 1;
}
