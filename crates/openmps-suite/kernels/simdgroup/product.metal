// what: simd_product wraps for integers
// threads: 32
// out: np.zeros(32, np.int32)
// in: rng.integers(1, 2**31, 32).astype(np.int32)
// expect: np.full(32, np.multiply.reduce(a))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = simd_product(a[i]);
}
