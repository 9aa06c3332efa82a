// what: under a branch the first lane is the first that took it
// threads: 32
// out: np.zeros(32, np.int32)
// expect: [9 if t >= 9 and t % 2 else -1 for t in range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int result = -1;
  if (i >= 9 && i % 2) result = simd_broadcast_first(int(i));
  out[i] = result;
}
