#include <metal_stdlib>
using namespace metal;

kernel void scale(device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = factor * out[i];
}
