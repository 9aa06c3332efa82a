// what: values added at random places
// threads: 500
// group: 50
// out: np.zeros(20, np.float32)
// in: rng.integers(-5, 6, 500).astype(np.float32)
// in: rng.integers(0, 20, 500).astype(np.int32)
// expect: np.bincount(b, a, 20)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device atomic_float* out,
    device const float* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(out + b[i], a[i], memory_order_relaxed);
}
