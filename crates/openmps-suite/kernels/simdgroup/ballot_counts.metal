// what: ballot as a number: its bits and its count
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(0, 2, 64).astype(np.int32)
// let: s = a.reshape(2, 32)
// let: words = (s << np.arange(32)).sum(1)
// expect: np.stack([np.repeat(s.sum(1), 32), np.repeat(words, 32)], 1).ravel().astype(np.int64).astype(np.uint32).view(np.int32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, device const int* a, uint i [[thread_position_in_grid]]) {
  ulong votes = ulong(simd_vote::vote_t(simd_ballot(a[i] != 0)));
  out[2 * i] = uint(popcount(votes));
  out[2 * i + 1] = uint(votes);
}
