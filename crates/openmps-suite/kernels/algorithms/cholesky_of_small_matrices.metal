// what: a 4 x 4 Cholesky factor in private memory for each thread
// threads: 16
// out: np.zeros((16, 4, 4), np.float32)
// in: (lambda m: m @ m.transpose(0, 2, 1) + np.eye(4, dtype=np.float32))(rng.standard_normal((16, 4, 4)).astype(np.float32))
// expect: np.linalg.cholesky(a.astype(np.float64))
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* a, uint i [[thread_position_in_grid]]) {
  float l[4][4] = {};
  for (int r = 0; r < 4; r++)
    for (int c = 0; c <= r; c++) {
      float sum = a[16 * i + 4 * r + c];
      for (int k = 0; k < c; k++) sum -= l[r][k] * l[c][k];
      l[r][c] = r == c ? sqrt(sum) : sum / l[c][c];
    }
  for (int k = 0; k < 16; k++) out[16 * i + k] = l[k / 4][k % 4];
}
