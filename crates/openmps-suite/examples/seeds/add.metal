#include <metal_stdlib>
using namespace metal;
kernel void add(device float* out [[buffer(0)]], constant float* a [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + 1.0h;
}
