// what: a product of floats by compare-and-exchange on their bits
// threads: 64
// group: 16
// out: np.ones(1, np.float32).view(np.int32)
// expect: np.array([2.0**32], np.float32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_uint* out, uint i [[thread_position_in_grid]]) {
  float factor = i % 2 ? 2 : 1;
  uint old = atomic_load_explicit(out, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(
      out, &old, as_type<uint>(as_type<float>(old) * factor), memory_order_relaxed, memory_order_relaxed))
    ;
}
