// what: the mask of lanes inside a branch
// threads: 32
// out: np.zeros(32, np.int32)
// expect: [0x11111111 if t % 4 == 0 else 0 for t in range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device uint* out, uint i [[thread_position_in_grid]]) {
  uint mask = 0;
  if (i % 4 == 0) mask = uint(ulong(simd_vote::vote_t(simd_active_threads_mask())));
  out[i] = mask;
}
