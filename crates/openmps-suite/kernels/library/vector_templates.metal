// what: deducing vec<T, N>, functional casts with a dependent type
// out: np.zeros(6, np.float32)
// expect: [10, 4, 3, 3, 2.5, 8]
#include <metal_stdlib>
using namespace metal;

template <typename T, int N>
T sum(vec<T, N> v) {
  T s = 0;
  for (int i = 0; i < N; i++) s += v[i];
  return s;
}
template <typename T>
float half_of_sum(float a, float b) {
  T v = T(a, b);
  return (v.x + v.y) / 2;
}

kernel void test(device float* out) {
  out[0] = sum(float4(1, 2, 3, 4));
  out[1] = vec_elements<float4>::value;
  out[2] = sum(int2(1, 2));
  out[3] = sum(half3(1));
  out[4] = half_of_sum<float2>(2, 3);
  out[5] = sizeof(vec<half, 4>);
}
