// what: the maximum of 64-bit unsigned numbers
// threads: 100
// group: 20
// out: np.zeros(1, np.int64)
// in: rng.integers(0, 2**62, 100)
// expect: [a.max()]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device atomic_ulong* out,
    device const ulong* a,
    uint i [[thread_position_in_grid]]) {
  atomic_max_explicit(out, a[i], memory_order_relaxed);
}
