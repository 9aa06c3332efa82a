// what: each thread tests one number by trial division
// threads: 500
// out: np.zeros(500, np.int32)
// expect: [t > 1 and all(t % d for d in range(2, int(t ** 0.5) + 1)) for t in range(500)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  bool prime = i > 1;
  for (uint d = 2; d * d <= i && prime; d++) prime = i % d != 0;
  out[i] = prime;
}
