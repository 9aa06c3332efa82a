// what: an array of matrices kept over a loop
// threads: 32
// out: np.zeros((4, 8, 8), np.float32)
// in: rng.integers(-3, 4, (4, 8, 8)).astype(np.float32)
// expect: np.stack([sum(np.linalg.matrix_power(m, p) for p in (1, 2, 3)) for m in a])
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a) {
  simdgroup_float8x8 powers[4], sums[4], bases[4];
  for (int k = 0; k < 4; k++) {
    simdgroup_load(bases[k], a + 64 * k, 8);
    powers[k] = simdgroup_float8x8(1.0f);
    sums[k] = simdgroup_float8x8(0.0f);
  }
  for (int p = 0; p < 3; p++)
    for (int k = 0; k < 4; k++) {
      simdgroup_multiply(powers[k], powers[k], bases[k]);
      simdgroup_multiply_accumulate(sums[k], powers[k], simdgroup_float8x8(1.0f), sums[k]);
    }
  for (int k = 0; k < 4; k++) simdgroup_store(sums[k], out + 64 * k, 8);
}
