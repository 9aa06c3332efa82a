#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  const char* name = "f";
  x[0] = name[0] + undeclared;
}
