// what: enable_if chooses by a property of the type
// threads: 4
// out: np.zeros(4, np.float32)
// expect: [0.5, 1.5, 2.5, 3.5]
#include <metal_stdlib>
using namespace metal;

template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
float middle(T x) {
  return x + 0.5f;
}
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
float middle(T x) {
  return x;
}

kernel void test(device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = middle(i) + middle(0.0f);
}
