// what: a lock by compare-and-exchange that one thread of each group takes
// threads: 256
// group: 32
// out: np.zeros(2, np.int32)
// expect: [0, 8 * 3]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) {
  device atomic_int* lock = reinterpret_cast<device atomic_int*>(out);
  if (t != 0) return;
  int expected = 0;
  while (!atomic_compare_exchange_weak_explicit(lock, &expected, 1, memory_order_relaxed, memory_order_relaxed))
    expected = 0;
  device atomic_int* count = lock + 1;
  int old = atomic_load_explicit(count, memory_order_relaxed);
  atomic_store_explicit(count, old + 3, memory_order_relaxed);
  atomic_store_explicit(lock, 0, memory_order_relaxed);
}
