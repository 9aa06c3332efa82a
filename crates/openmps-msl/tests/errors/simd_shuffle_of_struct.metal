#include <metal_stdlib>
using namespace metal;
struct Pair { float a, b; };
kernel void f(device Pair* x, uint i [[thread_position_in_grid]]) {
  x[i] = simd_shuffle(x[i], 0);
}
