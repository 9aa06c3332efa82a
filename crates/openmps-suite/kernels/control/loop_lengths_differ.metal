// what: each thread leaves a loop at its own iteration
// threads: 100
// out: np.zeros(100, np.int32)
// in: rng.integers(0, 50, 100).astype(np.int32)
// expect: a * (a - 1) // 2
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int k = 0; k < a[i]; k++) sum += k;
  out[i] = sum;
}
