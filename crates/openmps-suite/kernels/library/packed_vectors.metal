// what: packed vectors in memory, arithmetic with them, components and swizzles
// out: np.arange(9, dtype=np.float32)
// in: np.array([10, 20, 30], np.float32)
// expect: [10, 21, 32, 6, 8, 10, 8, 7, 6]
#include <metal_stdlib>
using namespace metal;

kernel void test(device packed_float3* out, device const packed_float3& in) {
  out[0] += in;
  float3 v = out[1] * 2;
  out[1] = v;
  packed_float3 p = out[2];
  out[2].xyz = p.zyx;
}
