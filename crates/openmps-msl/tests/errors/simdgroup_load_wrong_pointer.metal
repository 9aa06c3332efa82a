#include <metal_stdlib>
using namespace metal;
kernel void f(device half* x) {
  simdgroup_float8x8 m;
  simdgroup_load(m, x);
}
