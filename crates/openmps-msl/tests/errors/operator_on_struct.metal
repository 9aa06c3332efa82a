#include <metal_stdlib>
using namespace metal;
struct Pair {
  float a, b;
};
kernel void f(device Pair* x) {
  x[0] = x[1] + x[2];
}
