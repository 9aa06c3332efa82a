#include <metal_stdlib>
using namespace metal;
template <typename T> T twice(T x) { return x + x; }
kernel void f(device float* x) {
  x[0] = twice<double>(x[0]);
}
