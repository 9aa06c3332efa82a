// what: values of another vector move in at the ends
// threads: 32
// out: np.zeros(64, np.int32)
// in: rng.integers(0, 99, 32).astype(np.int32)
// in: rng.integers(100, 199, 32).astype(np.int32)
// expect: np.stack([np.concatenate([b[-4:], a[:-4]]), np.concatenate([a[4:], b[:4]])], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device int* out,
    device const int* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[2 * i] = simd_shuffle_and_fill_up(a[i], b[i], 4);
  out[2 * i + 1] = simd_shuffle_and_fill_down(a[i], b[i], 4);
}
