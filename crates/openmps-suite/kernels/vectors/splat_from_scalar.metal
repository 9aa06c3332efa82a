// what: a scalar fills all components, implicitly too
// out: np.zeros(8, np.float32)
// in: rng.standard_normal(1).astype(np.float32)
// expect: [*[a[0]] * 4, *[a[0] + 1] * 4]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float4* out, device const float* a) {
  float4 v = a[0];
  out[0] = v;
  out[1] = v + 1;
}
