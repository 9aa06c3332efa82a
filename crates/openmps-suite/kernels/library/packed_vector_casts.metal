// what: conversions between packed and plain vectors of different types
// out: np.zeros(4, np.int32)
// in: np.array([1.5, 2.5, -3.5], np.float32)
// expect: [1, 2, -3, 6]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const packed_float3* in) {
  int3 v = int3(float3(in[0]));
  out[0] = v.x;
  out[1] = v.y;
  out[2] = packed_int3(v).z;
  packed_half3 h(v);
  out[3] = sizeof(h) + int(h.x) - 1;
}
