// what: load, store, exchange, compare-exchange and its failure value
// out: np.array([5, 0, 0, 0, 0, 0], np.int32)
// expect: [9, 5, 7, 1, 0, 8]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_uint* cell, uint i [[thread_position_in_grid]]) {
  device uint* out = (device uint*)cell;
  out[1] = atomic_exchange_explicit(cell, 7u, memory_order_relaxed);
  out[2] = atomic_load_explicit(cell, memory_order_relaxed);
  uint expected = 7;
  out[3] = atomic_compare_exchange_weak_explicit(cell, &expected, 8u, memory_order_relaxed, memory_order_relaxed);
  expected = 100;
  out[4] = atomic_compare_exchange_weak_explicit(cell, &expected, 1u, memory_order_relaxed, memory_order_relaxed);
  out[5] = expected;
  atomic_store_explicit(cell, 9u, memory_order_relaxed);
}
