// what: simd_shuffle_rotate_up and _down wrap around
// threads: 32
// out: np.zeros(64, np.int32)
// in: rng.integers(0, 99, 32).astype(np.int32)
// expect: np.stack([np.roll(a, 5), np.roll(a, -3)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = simd_shuffle_rotate_up(a[i], 5);
  out[2 * i + 1] = simd_shuffle_rotate_down(a[i], 3);
}
