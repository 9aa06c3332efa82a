// what: atomic_bool store, load and exchange
// threads: 32
// out: np.zeros(2, np.uint8)
// expect: [1, 1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_bool* out, uint i [[thread_position_in_grid]]) {
  if (i == 7) atomic_store_explicit(&out[0], true, memory_order_relaxed);
  if (!atomic_exchange_explicit(&out[1], true, memory_order_relaxed))
    atomic_store_explicit(&out[1], true, memory_order_relaxed);
}
