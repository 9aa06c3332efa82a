#include <metal_stdlib>
using namespace metal;
extern "C" int getpid();
kernel void f(device int* x) {
  x[0] = getpid();
}
