// what: atomics in threadgroup memory, one array for each group
// threads: 256
// group: 64
// out: np.zeros((4, 4), np.int32)
// in: rng.integers(0, 4, 256).astype(np.int32)
// expect: [np.bincount(a[64 * g:64 * g + 64], minlength=4) for g in range(4)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]]) {
  threadgroup atomic_uint counts[4];
  if (t < 4) atomic_store_explicit(counts + t, 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(counts + a[i], 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 4) out[4 * g + t] = atomic_load_explicit(counts + t, memory_order_relaxed);
}
