#include <metal_stdlib>
using namespace metal;
kernel void f(device int* x) {
  simdgroup_matrix<int, 8, 8> m;
  simdgroup_load(m, x);
  simdgroup_store(m, x);
}
