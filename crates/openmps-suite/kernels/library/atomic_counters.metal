// what: fetch_add, fetch_sub, min, max, and, or, xor on device atomics
// threads: 256
// group: 64
// out: np.array([0, 0, 1000, 0, -1, 0, 0], np.int32)
// expect: [256, -512, 0, 255, 0, 255, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_int* out, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&out[0], 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&out[1], 2, memory_order_relaxed);
  atomic_fetch_min_explicit(&out[2], int(i), memory_order_relaxed);
  atomic_fetch_max_explicit(&out[3], int(i), memory_order_relaxed);
  atomic_fetch_and_explicit(&out[4], int(~i & 0xff) | int(0x80000000 >> (i % 32)) & 0, memory_order_relaxed);
  atomic_fetch_or_explicit(&out[5], int(i), memory_order_relaxed);
  atomic_fetch_xor_explicit(&out[6], int(i), memory_order_relaxed);
}
