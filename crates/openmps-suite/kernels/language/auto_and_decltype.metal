// what: types from initialisers and expressions
// out: np.zeros(3, np.float32)
// expect: [1.5, 2, 4]
#include <metal_stdlib>
using namespace metal;

template <typename T, typename U>
auto add(T x, U y) -> decltype(x + y) {
  return x + y;
}

kernel void test(device float* out) {
  auto sum = add(1, 0.5f);
  decltype(sum) two = 2;
  const auto& reference = sum;
  out[0] = reference;
  out[1] = two;
  out[2] = sizeof(sum);
}
