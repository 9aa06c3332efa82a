#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  x[0] = typeid(int) == typeid(float);
}
