// what: vector conversions to uchar4 saturate each component
// out: np.zeros(4, np.int32)
// in: np.array([-5, 100.9, 300, np.nan], np.float32)
// expect: [0, 100, 255, 0]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int4* out, device const float4* a) {
  out[0] = int4(uchar4(a[0]));
}
