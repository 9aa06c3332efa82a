#include <metal_stdlib>
using namespace metal;
template <typename T, enable_if_t<is_integral_v<T>, bool> = true> T bits(T x) { return x; }
kernel void f(device float* x) {
  x[0] = bits(x[0]);
}
