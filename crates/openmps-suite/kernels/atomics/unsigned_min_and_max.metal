// what: min and max above the sign bit
// threads: 200
// group: 40
// out: np.array([-1, 0], np.int32)
// in: rng.integers(-2**31, 2**31, 200).astype(np.int32)
// expect: [a.view(np.uint32).min().view(np.int32), a.view(np.uint32).max().view(np.int32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device atomic_uint* out,
    device const uint* a,
    uint i [[thread_position_in_grid]]) {
  atomic_fetch_min_explicit(out, a[i], memory_order_relaxed);
  atomic_fetch_max_explicit(out + 1, a[i], memory_order_relaxed);
}
