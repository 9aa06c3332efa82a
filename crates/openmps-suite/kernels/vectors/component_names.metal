// what: x y z w and r g b a name the same components
// out: np.zeros(4, np.float32)
// in: rng.standard_normal(4).astype(np.float32)
// expect: a[::-1]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float4& a) {
  out[0] = a.a;
  out[1] = a.z;
  out[2] = a.g;
  out[3] = a.x;
}
