#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(0)]]
kernel void f(device float* x) {
  x[0] = 1;
}
