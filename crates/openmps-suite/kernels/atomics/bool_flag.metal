// what: atomic_bool stored by some thread and read after a barrier
// threads: 64
// group: 32
// out: np.zeros(64, np.int32)
// expect: np.repeat([0, 1], 32)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup atomic_bool seen;
  if (t == 0) atomic_store_explicit(&seen, false, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i == 50) atomic_store_explicit(&seen, true, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = atomic_load_explicit(&seen, memory_order_relaxed);
}
