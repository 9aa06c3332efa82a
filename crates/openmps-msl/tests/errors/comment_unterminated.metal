#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  /* what follows is lost
  x[0] = 1;
}
