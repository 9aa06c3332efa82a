// what: mix, step, smoothstep, saturate, sign
// out: np.zeros(10, np.float32)
// in: np.array([-0.5, 0.25, 1.5], np.float32)
// expect: [0.125, 0, 1, 0.15625, 0, 1, -1, 1, 0, 2]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out, device const float* in) {
  out[0] = mix(in[0], 2.0f, in[1]);
  out[1] = step(in[1], in[0]);
  out[2] = step(in[0], in[1]);
  out[3] = smoothstep(0.0f, 1.0f, in[1]);
  out[4] = saturate(in[0]);
  out[5] = saturate(in[2]);
  out[6] = sign(in[0]);
  out[7] = sign(in[1]);
  out[8] = sign(0.0f);
  out[9] = mix(float2(1), float2(3), 0.5f).y;
}
