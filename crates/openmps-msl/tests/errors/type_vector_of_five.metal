#include <metal_stdlib>
using namespace metal;
kernel void f(device float5* x) {
  x[0] = 1;
}
