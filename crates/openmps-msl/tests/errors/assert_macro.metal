#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  assertion(x[0] > 0);
}
