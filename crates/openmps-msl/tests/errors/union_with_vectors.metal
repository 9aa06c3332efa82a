#include <metal_stdlib>
using namespace metal;
union U {
  float4 v;
  float a[4];
};
kernel void f(device float* x) {
  U u = {1, 2, 3};
  x[0] = u.a[0];
}
