// what: pack_float_to_unorm4x8 and back
// threads: 32
// out: np.zeros((32, 4), np.float32)
// in: rng.uniform(-0.2, 1.2, (32, 4)).astype(np.float32)
// expect: np.rint(np.clip(a, 0, 1) * 255) / 255
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = unpack_unorm4x8_to_float(pack_float_to_unorm4x8(a[i]));
}
