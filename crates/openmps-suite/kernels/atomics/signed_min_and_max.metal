// what: min and max with negative numbers
// threads: 200
// group: 40
// out: np.zeros(2, np.int32)
// in: rng.integers(-10**9, 10**9, 200).astype(np.int32)
// expect: [min(0, a.min()), max(0, a.max())]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  atomic_fetch_min_explicit(out, a[i], memory_order_relaxed);
  atomic_fetch_max_explicit(out + 1, a[i], memory_order_relaxed);
}
