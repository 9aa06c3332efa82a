// what: atomics in threadgroup memory
// threads: 128
// group: 64
// out: np.zeros(2, np.int32)
// expect: [2016, 2016 + 64 * 64]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_position_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup atomic_int total;
  if (t == 0) atomic_store_explicit(&total, 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&total, int(i), memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) out[g] = atomic_load_explicit(&total, memory_order_relaxed);
}
