// what: a sum of halves is rounded after each addition
// threads: 64
// out: np.zeros(64, np.float16)
// in: rng.standard_normal((64, 8)).astype(np.float16)
// let: s = a[:, 0]
// let: s = s + a[:, 1]
// let: s = s + a[:, 2]
// let: s = s + a[:, 3]
// expect: s
#include <metal_stdlib>
using namespace metal;

kernel void test(device half* out, device const half* a, uint i [[thread_position_in_grid]]) {
  half sum = a[8 * i];
  for (int k = 1; k < 4; k++) sum += a[8 * i + k];
  out[i] = sum;
}
