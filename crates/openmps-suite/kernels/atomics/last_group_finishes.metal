// what: the last threadgroup to take a ticket sums what all have written
// threads: 1024
// group: 128
// out: np.zeros(10, np.int32)
// in: rng.integers(0, 9, 1024).astype(np.int32)
// expect: [*a.reshape(8, 128).sum(1), 8, a.sum()]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup atomic_int sum;
  if (t == 0) atomic_store_explicit(&sum, 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&sum, a[i], memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t != 0) return;
  device atomic_int* words = reinterpret_cast<device atomic_int*>(out);
  atomic_store_explicit(words + g, atomic_load_explicit(&sum, memory_order_relaxed), memory_order_relaxed);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  if (atomic_fetch_add_explicit(words + 8, 1, memory_order_relaxed) == 7) {
    int total = 0;
    for (int k = 0; k < 8; k++) total += atomic_load_explicit(words + k, memory_order_relaxed);
    out[9] = total;
  }
}
