#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  for (int i = 0; i < 4; i++) {
    x[i] = 1;
