#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x, uint2 i [[thread_index_in_simdgroup]]) {
  x[i.x] = 1;
}
