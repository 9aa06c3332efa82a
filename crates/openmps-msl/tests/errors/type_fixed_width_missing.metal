#include <metal_stdlib>
using namespace metal;
kernel void f(device u32* x) {
  x[0] = 1;
}
