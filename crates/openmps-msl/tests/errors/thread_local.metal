#include <metal_stdlib>
using namespace metal;
thread_local int n = 0;
kernel void f(device int* x) {
  x[0] = n;
}
