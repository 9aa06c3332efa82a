#include <metal_stdlib>
using namespace metal;
template <typename T> T pick(T a, T b) { return a; }
kernel void f(device float* x) {
  x[0] = pick(1, 2.0);
}
