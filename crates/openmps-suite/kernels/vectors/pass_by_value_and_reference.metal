// what: vectors as arguments, results and thread references
// threads: 8
// out: np.zeros((8, 4), np.float32)
// in: rng.standard_normal((8, 4)).astype(np.float32)
// expect: a[:, ::-1] * 3
#include <metal_stdlib>
using namespace metal;

void triple(thread float4& v) {
  v *= 3;
}
float4 reversed(float4 v) {
  triple(v);
  return v.wzyx;
}

kernel void test(device float4* out, device const float4* a, uint i [[thread_position_in_grid]]) {
  out[i] = reversed(a[i]);
}
