#include <metal_stdlib>
using namespace metal;

kernel void add(device float* out [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] += x[i];
}

[[max_total_threads_per_threadgroup(64)]]
kernel void reverse(device float* data [[buffer(0)]], threadgroup float* scratch [[threadgroup(0)]],
                    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lane] = data[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    data[i] = tile[63 - lane] + scratch[0] * 0;
}
