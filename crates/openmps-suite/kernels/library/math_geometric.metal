// what: dot, cross, length, distance, normalize, reflect, refract, faceforward
// out: np.zeros(12, np.float32)
// expect: [32, -3, 6, -3, 5, np.sqrt(27), 0.6, 0.8, 1, -1, 0, -1]
// tolerance: 1e-6
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  float3 a(1, 2, 3), b(4, 5, 6);
  out[0] = dot(a, b);
  float3 c = cross(a, b);
  out[1] = c.x;
  out[2] = c.y;
  out[3] = c.z;
  out[4] = length(float2(3, 4));
  out[5] = distance(a, b);
  float2 unit = normalize(float2(3, 4));
  out[6] = unit.x;
  out[7] = unit.y;
  out[8] = reflect(float2(1, -1), float2(0, 1)).y;
  out[9] = refract(float2(0, -1), float2(0, 1), 0.5f).y;
  out[10] = faceforward(float2(0, 1), float2(0, -1), float2(0, 1)).x;
  out[11] = faceforward(float2(0, 1), float2(0, 1), float2(0, 1)).y;
}
