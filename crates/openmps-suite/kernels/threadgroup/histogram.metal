// what: a histogram counted in threadgroup atomics, then added to device memory
// threads: 1024
// group: 256
// out: np.zeros(16, np.int32)
// in: rng.integers(0, 16, 1024).astype(np.int32)
// expect: np.bincount(a, minlength=16)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device atomic_int* out,
    device const int* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]]) {
  threadgroup atomic_int counts[16];
  if (t < 16) atomic_store_explicit(&counts[t], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&counts[a[i]], 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 16) {
    int count = atomic_load_explicit(&counts[t], memory_order_relaxed);
    atomic_fetch_add_explicit(&out[t], count, memory_order_relaxed);
  }
}
