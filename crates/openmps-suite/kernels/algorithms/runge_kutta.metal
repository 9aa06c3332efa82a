// what: an oscillator integrated for a hundred steps
// threads: 8
// out: np.zeros((8, 2), np.float32)
// expect: [[np.cos((t + 1) * 0.5), -np.sin((t + 1) * 0.5)] for t in range(8)]
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

float2 slope(float2 state) {
  return float2(state.y, -state.x);
}

kernel void test(device float2* out, uint i [[thread_position_in_grid]]) {
  float2 state = float2(1, 0);
  float h = (i + 1) * 0.005f;
  for (int k = 0; k < 100; k++) {
    float2 k1 = slope(state), k2 = slope(state + h / 2 * k1);
    float2 k3 = slope(state + h / 2 * k2), k4 = slope(state + h * k3);
    state += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  out[i] = state;
}
