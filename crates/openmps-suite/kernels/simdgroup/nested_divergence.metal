// what: a ballot two branches deep
// threads: 32
// out: np.zeros(32, np.int32)
// expect: [sum(x % 2 == 0 and x % 3 == 0 for x in range(32)) if t % 6 == 0 else 0 for t in range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  int count = 0;
  if (i % 2 == 0)
    if (i % 3 == 0) count = simd_sum(1);
  out[i] = count;
}
