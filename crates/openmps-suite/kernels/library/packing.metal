// what: pack and unpack of normalised integers
// out: np.zeros(10, np.float32)
// expect: [0x80ff0040, 1, 0.5, 0.25098039, 0x8000ffff, -1, 1, 0xf800, 1, 3]
// tolerance: 2e-3
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  out[0] = float(pack_float_to_unorm4x8(float4(0.25f, 0, 1, 0.5f)));
  float4 v = unpack_unorm4x8_to_float(0x80ff0040u + i);
  out[1] = v.z;
  out[2] = v.w;
  out[3] = v.x;
  out[4] = float(pack_float_to_unorm2x16(float2(1, 0.5f)));
  out[5] = unpack_snorm4x8_to_float(0x80u + i).x;
  out[6] = unpack_snorm2x16_to_float(0x7fffu + i).x;
  out[7] = float(pack_float_to_unorm565(float3(1, 0, 0)));
  out[8] = unpack_unorm10a2_to_float(0x3ffu + i).x;
  out[9] = pack_float_to_unorm10a2(float4(0, 0, 0, 1)) >> 30;
}
