#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic<half>* x) {
  atomic_fetch_add_explicit(x, 1.0h, memory_order_relaxed);
}
