// what: quad_all, quad_any and quad_ballot
// threads: 32
// out: np.zeros((32, 3), np.int32)
// in: rng.integers(0, 2, 32).astype(np.int32)
// let: q = a.reshape(8, 4)
// expect: np.repeat(np.stack([q.all(1), q.any(1), (q << np.arange(4)).sum(1)], 1), 4, 0)
#include <metal_stdlib>
using namespace metal;

kernel void test(device packed_int3* out, device const int* a, uint i [[thread_position_in_grid]]) {
  bool x = a[i];
  uint votes = uint(quad_vote::vote_t(quad_ballot(x)));
  out[i] = int3(quad_all(x), quad_any(x), votes);
}
