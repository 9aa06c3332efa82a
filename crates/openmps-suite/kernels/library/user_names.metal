// what: names that kernels define beside `using namespace metal` do not collide with the library
// out: np.zeros(3, np.int32)
// expect: [1, 2, 3]
#include <metal_stdlib>
using namespace metal;

template <typename...>
using void_t = void;
template <typename T>
struct is_empty : bool_constant<false> {};
template <typename T>
constexpr T&& forward(thread T& x) {
  return static_cast<T&&>(x);
}
template <typename T>
void swap(thread T& a, thread T& b) {
  T t = a;
  a = b;
  b = t;
}
static float recip(float x) { return 1 / x; }
struct pair {
  int a, b;
};

kernel void test(device int* out) {
  int x = 2, y = 1;
  swap(x, y);
  out[0] = forward(x);
  out[1] = recip(0.5f);
  out[2] = pair{1, 2}.a + y;
}
