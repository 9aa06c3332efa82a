// what: inclusive and exclusive prefix sums in quads
// threads: 32
// out: np.zeros((32, 2), np.int32)
// in: rng.integers(-9, 9, 32).astype(np.int32)
// let: s = np.cumsum(a.reshape(8, 4), 1).ravel()
// expect: np.stack([s, s - a], 1)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int2* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = int2(quad_prefix_inclusive_sum(a[i]), quad_prefix_exclusive_sum(a[i]));
}
