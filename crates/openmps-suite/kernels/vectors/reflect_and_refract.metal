// what: reflect, and refract with total reflection giving zero
// threads: 2
// out: np.zeros((4, 2), np.float32)
// in: np.array([[0.6, -0.8], [0.98, -0.2]], np.float32)
// expect: [[0.6, 0.8], [0.9, -np.sqrt(1 - 0.81)], [0.98, 0.2], [0, 0]]
// tolerance: 1e-4
#include <metal_stdlib>
using namespace metal;

kernel void test(device float2* out, device const float2* a, uint i [[thread_position_in_grid]]) {
  float2 normal(0, 1);
  out[2 * i] = reflect(a[i], normal);
  out[2 * i + 1] = refract(a[i], normal, 1.5f);
}
