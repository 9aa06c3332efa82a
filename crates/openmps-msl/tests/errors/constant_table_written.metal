#include <metal_stdlib>
using namespace metal;
constant int table[] = {1, 2, 3};
kernel void f(device int* x) {
  table[0] = x[0];
}
