// what: one lane's value on all lanes
// threads: 64
// out: np.zeros(128, np.int32)
// in: rng.integers(0, 99, 64).astype(np.int32)
// expect: np.stack([np.repeat(a[7::32], 32), np.repeat(a[::32], 32)], 1).ravel()
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[2 * i] = simd_broadcast(a[i], 7);
  out[2 * i + 1] = simd_broadcast_first(a[i]);
}
