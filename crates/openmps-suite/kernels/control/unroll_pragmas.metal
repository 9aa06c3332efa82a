// what: unroll pragmas do not change results
// threads: 16
// out: np.zeros(16, np.float32)
// in: rng.standard_normal((16, 12)).astype(np.float32)
// let: sums = np.add.accumulate(a, axis=1, dtype=np.float32)[:, -1]
// expect: sums * 2
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float first = 0, second = 0;
#pragma unroll
  for (int k = 0; k < 12; k++) first += a[12 * i + k];
#pragma clang loop unroll_count(3)
  for (int k = 0; k < 12; k++) second += a[12 * i + k];
  out[i] = first + second;
}
