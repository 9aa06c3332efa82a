// what: reading swizzles of two to four letters, with repeats, in both alphabets
// out: np.zeros(20, np.float32)
// in: np.arange(1, 5, dtype=np.float32)
// expect: [4, 3, 2, 1, 1, 1, 2, 2, 3, 1, 4, 4, 2, 1, 4, 3, 4, 4, 4, 4]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float4* in) {
  float4 v = in[0];
  out[0] = v.wzyx;
  out[1] = v.xxyy;
  out[2].xy = v.zx;
  out[2].zw = v.ww;
  out[3] = float4(v.gr, v.ab);
  out[4] = v.aaaa;
}
