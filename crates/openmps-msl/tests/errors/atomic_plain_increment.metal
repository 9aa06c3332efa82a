#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic_int* x) {
  x[0]++;
}
