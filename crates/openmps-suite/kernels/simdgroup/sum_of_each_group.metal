// what: simd_sum over several SIMD-groups and threadgroups
// threads: 256
// group: 64
// out: np.zeros(256, np.int32)
// in: rng.integers(-99, 99, 256).astype(np.int32)
// expect: np.repeat(a.reshape(8, 32).sum(1), 32)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  out[i] = simd_sum(a[i]);
}
