#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  atomic_fetch_add_explicit(x, 1.0f, memory_order_relaxed);
}
