#include <metal_stdlib>
using namespace metal;
template <typename T> kernel void f(device T* x) {
  x[0] = T(1) + missing_name;
}
