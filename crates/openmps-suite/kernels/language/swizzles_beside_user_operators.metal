// what: sums, products and compound assignments of swizzles in a template, when the program declares operators of its own
// threads: 2
// out: np.arange(8, dtype=np.float32)
// expect: [1, 2, 6, 10, -10, -12, 22, 26]
#include <metal_stdlib>
using namespace metal;

template <typename T>
struct box {
  T value;
  box operator+(box other) const { return {value + other.value}; }
};
template <typename T>
box<T> operator+(box<T> a, T b) {
  return {a.value + b};
}
template <typename T>
box<T> operator*(T a, box<T> b) {
  return {a * b.value};
}
template <typename T>
box<T>& operator+=(thread box<T>& a, T b) {
  a.value += b;
  return a;
}
template <typename T>
box<T> operator-(box<T> a) {
  return {-a.value};
}

template <typename T>
void mix_up(device vec<T, 4>* x, uint i) {
  vec<T, 4> v = x[i];
  v.xy += T(1);
  v.zw = v.xy + v.zw;
  v.zw = T(2) * v.zw;
  if (i == 1) v.xy = -(v.xy + v.xy);
  x[i] = v;
}

kernel void test(device float4* x, uint i [[thread_position_in_grid]]) {
  mix_up(x, i);
  box<float> b = box<float>{1} + 1.0f;
  b += 1.0f;
  if (i == 0) x[0].zw -= (2.0f * -b).value * 0 + float2(0);
}
