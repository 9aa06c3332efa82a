#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic_float* x) {
  atomic_fetch_max_explicit(x, 1.0f, memory_order_relaxed);
}
