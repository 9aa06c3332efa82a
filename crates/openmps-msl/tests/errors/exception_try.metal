#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  try {
    x[0] = 1;
  } catch (...) {
    x[0] = 2;
  }
}
