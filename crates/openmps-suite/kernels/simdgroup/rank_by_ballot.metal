// what: each lane counts the set lanes below it
// threads: 32
// out: np.zeros(32, np.int32)
// in: rng.integers(0, 2, 32).astype(np.int32)
// expect: np.cumsum(a) - a
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  ulong votes = ulong(simd_vote::vote_t(simd_ballot(a[i] != 0)));
  out[i] = int(popcount(votes & ((1ul << i) - 1)));
}
