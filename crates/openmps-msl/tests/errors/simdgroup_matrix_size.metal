#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) {
  simdgroup_matrix<float, 4, 4> m;
  simdgroup_load(m, x);
}
