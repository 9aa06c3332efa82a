#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  threadgroup_barrier(mem_flags::mem_threadgroups);
}
