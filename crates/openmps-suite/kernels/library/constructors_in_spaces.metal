// what: one constructor for each address space, also defaulted ones and templates
// out: np.zeros(4, np.float32)
// expect: [1, 2, 3, 0]
#include <metal_stdlib>
using namespace metal;

template <typename T>
struct Number {
  T real, imaginary;
  Number() thread = default;
  Number() threadgroup = default;
  Number() device = default;
  Number() constant = default;
  constexpr Number(T r, T i) thread : real(r), imaginary(i) {}
  constexpr Number(T r, T i) device : real(r), imaginary(i) {}
  constexpr Number(T r, T i) constant : real(r), imaginary(i) {}
  template <typename U, typename = enable_if_t<is_arithmetic_v<U>>>
  constexpr Number(U x) thread : real(static_cast<T>(x)), imaginary(static_cast<T>(0)) {}
  template <typename U, typename = enable_if_t<is_arithmetic_v<U>>>
  constexpr Number(U x) constant : real(static_cast<T>(x)), imaginary(static_cast<T>(0)) {}
};
constant Number<float> one_and_two = {1, 2};

kernel void test(device Number<float>* out) {
  out[0] = one_and_two;
  out[1] = Number<float>(3);
}
