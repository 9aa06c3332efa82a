#include <metal_stdlib>
using namespace metal;
void set(device float& a) { a = 1; }
kernel void f(constant float* x) {
  set(x[0]);
}
