// what: parameter packs, sizeof... and fold expressions
// out: np.zeros(3, np.int32)
// expect: [10, 4, 24]
#include <metal_stdlib>
using namespace metal;

template <typename... T>
int sum(T... values) {
  return (0 + ... + values);
}
template <typename... T>
int count(T...) {
  return sizeof...(T);
}
template <typename... T>
int product(T... values) {
  return (values * ...);
}

kernel void test(device int* out) {
  out[0] = sum(1, 2, 3, 4);
  out[1] = count(1, 2.0f, 'c', true);
  out[2] = product(2, 3, 4);
}
