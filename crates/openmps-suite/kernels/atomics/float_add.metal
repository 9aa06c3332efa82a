// what: float atomics add and subtract
// threads: 256
// group: 32
// out: np.zeros(2, np.float32)
// expect: [256 * 0.25, -256 * 0.5]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_float* out) {
  atomic_fetch_add_explicit(out, 0.25f, memory_order_relaxed);
  atomic_fetch_sub_explicit(out + 1, 0.5f, memory_order_relaxed);
}
