#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic_int* x) {
  atomic_fetch_add_explicit(x, 1);
}
