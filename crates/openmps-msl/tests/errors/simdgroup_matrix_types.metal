#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  simdgroup_float8x8 a, b;
  simdgroup_half8x8 c;
  simdgroup_multiply(c, a, b);
  simdgroup_store(c, x);
}
