#include <metal_stdlib>
using namespace metal;
kernel void f(device half* x) {
  x[0] = as_type<half>(1.0f);
}
