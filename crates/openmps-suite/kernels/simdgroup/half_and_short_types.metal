// what: reductions of half, short and uchar
// threads: 32
// out: np.zeros((32, 3), np.float32)
// in: rng.integers(0, 5, 32).astype(np.int32)
// expect: np.tile([a.sum() * 0.5, a.max() - 300, (a.sum() * 50) % 256], (32, 1))
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device packed_float3* out,
    device const int* a,
    uint i [[thread_position_in_grid]]) {
  half h = simd_sum(half(a[i]) * 0.5h);
  short s = simd_max(short(a[i] - 300));
  uchar u = simd_sum(uchar(a[i] * 50));
  out[i] = float3(h, s, u);
}
