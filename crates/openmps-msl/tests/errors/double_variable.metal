#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  double sum = 0;
  for (int i = 0; i < 4; i++) sum += x[i];
  x[0] = sum;
}
