// what: each threadgroup has memory of its own
// threads: 320
// group: 32
// out: np.zeros(320, np.int32)
// expect: np.repeat([sum(range(32 * g, 32 * g + 32)) for g in range(10)], 32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup atomic_int sum;
  if (t == 0) atomic_store_explicit(&sum, 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&sum, int(i), memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = atomic_load_explicit(&sum, memory_order_relaxed);
}
