// what: a failed exchange stores what it found
// out: np.array([5, 0, 0, 0], np.int32)
// expect: [7, 0, 5, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out) {
  device atomic_int* word = reinterpret_cast<device atomic_int*>(out);
  int expected = 9;
  out[1] = atomic_compare_exchange_weak_explicit(word, &expected, 8, memory_order_relaxed, memory_order_relaxed);
  out[2] = expected;
  out[3] = atomic_compare_exchange_weak_explicit(word, &expected, 7, memory_order_relaxed, memory_order_relaxed);
}
