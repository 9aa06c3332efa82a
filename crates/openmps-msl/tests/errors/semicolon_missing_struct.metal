#include <metal_stdlib>
using namespace metal;
struct Params {
  int n;
}
kernel void f(device int* x, constant Params& p) {
  x[0] = p.n;
}
