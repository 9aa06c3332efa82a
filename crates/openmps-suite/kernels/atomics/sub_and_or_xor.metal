// what: fetch_sub, and, or, xor on words
// threads: 32
// out: np.array([1000, -1, 0, 0], np.int32)
// expect: [1000 - sum(range(32)), 0, -1, -1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_int* out, uint i [[thread_position_in_grid]]) {
  atomic_fetch_sub_explicit(out, int(i), memory_order_relaxed);
  atomic_fetch_and_explicit(out + 1, int(~(1u << i)), memory_order_relaxed);
  atomic_fetch_or_explicit(out + 2, int(1u << i), memory_order_relaxed);
  atomic_fetch_xor_explicit(out + 3, int(1u << i), memory_order_relaxed);
}
