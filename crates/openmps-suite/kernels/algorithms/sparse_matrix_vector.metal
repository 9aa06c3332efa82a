// what: a product with a matrix in compressed rows of different lengths
// threads: 40
// out: np.zeros(40, np.float32)
// in: np.concatenate([[0], np.cumsum(rng.integers(0, 9, 40))]).astype(np.int32)
// in: rng.integers(0, 50, 400).astype(np.int32)
// in: rng.integers(-9, 9, 400).astype(np.float32)
// expect: [sum(c[k] * (b[k] - 25) for k in range(a[r], a[r + 1])) for r in range(40)]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const int* a,
    device const int* b,
    device const float* c,
    uint i [[thread_position_in_grid]]) {
  float sum = 0;
  for (int k = a[i]; k < a[i + 1]; k++) sum += c[k] * float(b[k] - 25);
  out[i] = sum;
}
