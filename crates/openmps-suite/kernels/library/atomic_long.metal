// what: 64-bit unsigned minimum and maximum
// threads: 64
// out: np.array([2**62, 0], np.int64)
// expect: [2**40, 2**40 + 63]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_ulong* out, uint i [[thread_position_in_grid]]) {
  atomic_min_explicit(&out[0], (1ul << 40) + i, memory_order_relaxed);
  atomic_max_explicit(&out[1], (1ul << 40) + i, memory_order_relaxed);
}
