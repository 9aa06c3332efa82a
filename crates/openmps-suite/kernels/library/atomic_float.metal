// what: float add, and atomics reached by a cast from a plain pointer
// threads: 128
// group: 32
// out: np.zeros(2, np.float32)
// expect: [128 * 0.5, 127]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  device atomic<float>* p = reinterpret_cast<device atomic<float>*>(out);
  atomic_fetch_add_explicit(p, 0.5f, memory_order_relaxed);
  float old = atomic_load_explicit(p + 1, memory_order_relaxed);
  while (float(i) > old && !atomic_compare_exchange_weak_explicit(
                               p + 1, &old, float(i), memory_order_relaxed, memory_order_relaxed)) {
  }
}
