#include <metal_stdlib>
using namespace metal;
struct S {
  threadgroup float data[4];
};
kernel void f(device float* x) {
  S s;
  x[0] = s.data[0];
}
