// what: simd_shuffle with a lane from memory
// threads: 64
// out: np.zeros(64, np.float32)
// in: rng.standard_normal(64).astype(np.float32)
// in: rng.integers(0, 32, 64).astype(np.int32)
// expect: a.reshape(2, 32)[np.arange(64) // 32, b]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device float* out,
    device const float* a,
    device const int* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = simd_shuffle(a[i], ushort(b[i]));
}
