// what: writing through swizzles, compound assignment, in device memory too
// out: np.arange(8, dtype=np.float32)
// expect: [3, 2, 1, 0, 14, 6, 26, 7]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out) {
  float4 v = out[0];
  v.xyzw = v.wzyx;
  out[0] = v;
  out[1].xz += float2(10, 20);
  out[1].yw = float2(out[1].w - 1, out[1].y + 2);
}
