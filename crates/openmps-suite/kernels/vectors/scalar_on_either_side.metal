// what: scalars combine with vectors on both sides of - and /
// threads: 8
// out: np.zeros((8, 3), np.float32)
// in: rng.uniform(1, 2, (8, 3)).astype(np.float32)
// expect: 1 / a - (a - 3)
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device packed_float3* out,
    device const packed_float3* a,
    uint i [[thread_position_in_grid]]) {
  float3 v = a[i];
  out[i] = 1 / v - (v - 3);
}
