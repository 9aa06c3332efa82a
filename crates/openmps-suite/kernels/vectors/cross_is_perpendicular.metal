// what: the cross product, against NumPy's
// threads: 16
// out: np.zeros((16, 3), np.float32)
// in: rng.standard_normal((16, 3)).astype(np.float32)
// in: rng.standard_normal((16, 3)).astype(np.float32)
// expect: np.cross(a, b)
// tolerance: 1e-5
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device packed_float3* out,
    device const packed_float3* a,
    device const packed_float3* b,
    uint i [[thread_position_in_grid]]) {
  out[i] = cross(float3(a[i]), float3(b[i]));
}
