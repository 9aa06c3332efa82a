#include <metal_stdlib>
using namespace metal;

constant float factor [[function_constant(3)]];
constant bool has_offset [[function_constant(7)]];
constant int2 offset [[function_constant(8)]];
constant float stretch = is_function_constant_defined(factor) ? factor : 1.0f;

kernel void scale(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] *= stretch;
    if (has_offset) out[i] += offset.y;
}

kernel void plain(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = 0; }
