// what: neighbours on either side, kept at the ends
// threads: 32
// out: np.zeros(32, np.int32)
// in: rng.integers(0, 99, 32).astype(np.int32)
// expect: [(a[t - 1] if t > 0 else 0) + (a[t + 1] if t < 31 else 0) for t in range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  int before = simd_shuffle_up(a[i], 1), after = simd_shuffle_down(a[i], 1);
  out[i] = (i > 0 ? before : 0) + (i < 31 ? after : 0);
}
