#include <metal_stdlib>
using namespace metal;
device int counter = 0;
kernel void f(device int* x) {
  x[0] = counter++;
}
