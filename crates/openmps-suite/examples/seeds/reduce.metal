#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(256)]]
kernel void reduce(device atomic_uint* total, const device float* in, threadgroup float* scratch [[threadgroup(0)]],
                   uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    scratch[t] = exp(in[i]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = simd_sum(scratch[t ^ 1]);
    if (lane == 0) {
        atomic_fetch_add_explicit(total, uint(sum), memory_order_relaxed);
    }
}
