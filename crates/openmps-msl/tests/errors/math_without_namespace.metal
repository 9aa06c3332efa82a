#include <metal_stdlib>
kernel void f(device float* x) {
  x[0] = sqrt(x[1]);
}
