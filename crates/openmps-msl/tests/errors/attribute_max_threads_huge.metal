#include <metal_stdlib>
using namespace metal;
kernel void f [[max_total_threads_per_threadgroup(2048)]] (device float* x) {
  x[0] = 1;
}
