// what: packed_float3 arrays have a stride of 12 bytes
// threads: 5
// out: np.zeros(15, np.float32)
// in: rng.standard_normal(15).astype(np.float32)
// expect: a * 2
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device packed_float3* out,
    device const packed_float3* a,
    uint i [[thread_position_in_grid]]) {
  out[i] = float3(a[i]) * 2;
}
