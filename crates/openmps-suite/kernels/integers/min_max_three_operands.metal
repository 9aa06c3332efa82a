// what: min3, max3 and median3 of int
// threads: 64
// out: np.zeros(192, np.int32)
// in: rng.integers(-99, 99, 64).astype(np.int32)
// in: rng.integers(-99, 99, 64).astype(np.int32)
// in: rng.integers(-99, 99, 64).astype(np.int32)
// expect: np.sort(np.stack([a, b, c], 1), 1)[:, [0, 2, 1]].ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    device const int* c,
    uint i [[thread_position_in_grid]]) {
  out[3 * i] = min3(a[i], b[i], c[i]);
  out[3 * i + 1] = max3(a[i], b[i], c[i]);
  out[3 * i + 2] = median3(a[i], b[i], c[i]);
}
