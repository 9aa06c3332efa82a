// what: ballot, all, any, is_first, the active mask
// threads: 32
// out: np.zeros((32, 6), np.int64)
// expect: (lambda i: np.stack([0 * i + sum(1 << int(k) for k in i if k % 3 == 0), 0 * i, 0 * i + 1, i == 0, 0 * i + 2**32 - 1, 0 * i + 1], 1))(np.arange(32))
#include <metal_stdlib>
using namespace metal;

kernel void test(device long* out, uint i [[thread_position_in_grid]]) {
  simd_vote vote = simd_ballot(i % 3 == 0);
  out[6 * i + 0] = long(simd_vote::vote_t(vote));
  out[6 * i + 1] = simd_all(i % 3 == 0);
  out[6 * i + 2] = simd_any(i == 9);
  out[6 * i + 3] = simd_is_first();
  out[6 * i + 4] = long(ulong(simd_active_threads_mask()));
  out[6 * i + 5] = simd_ballot(true).all();
}
