#include <metal_stdlib>
using namespace metal;
kernel void f(device float32* x) {
  x[0] = 1;
}
