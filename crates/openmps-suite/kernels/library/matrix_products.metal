// what: matrix times vector, vector times matrix, matrix times matrix, transpose, determinant
// out: np.zeros(14, np.float32)
// expect: [23, 34, 17, 39, 23, 34, 31, 46, 1, 3, 2, 4, -2, 24]
#include <metal_stdlib>
using namespace metal;

kernel void test(device float* out) {
  float2x2 m(float2(1, 2), float2(3, 4));
  float2x2 n(5, 6, 7, 8);
  float2 v = m * float2(5, 6), w = float2(5, 6) * m;
  out[0] = v.x;
  out[1] = v.y;
  out[2] = w.x;
  out[3] = w.y;
  float2x2 p = m * n, t = transpose(m);
  out[4] = p[0][0];
  out[5] = p[0].y;
  out[6] = p[1][0];
  out[7] = p[1][1];
  out[8] = t[0][0];
  out[9] = t[0][1];
  out[10] = t[1][0];
  out[11] = t[1][1];
  out[12] = determinant(m);
  float3x3 d(0.0f);
  d[0][0] = 2;
  d[1][1] = 3;
  d[2][2] = 4;
  out[13] = determinant(d);
}
