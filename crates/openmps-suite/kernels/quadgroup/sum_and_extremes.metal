// what: quad_sum, quad_min and quad_max of four neighbours
// threads: 64
// out: np.zeros((64, 3), np.int32)
// in: rng.integers(-99, 99, 64).astype(np.int32)
// let: q = a.reshape(16, 4)
// expect: np.repeat(np.stack([q.sum(1), q.min(1), q.max(1)], 1), 4, 0)
#include <metal_stdlib>
using namespace metal;

kernel void test(device packed_int3* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = int3(quad_sum(a[i]), quad_min(a[i]), quad_max(a[i]));
}
