// `metal_uniform`: uniform<T>, a promise that a value is the same in all threads. It is kept as a plain value here.
#pragma once
#pragma clang system_header
#include "traits.h"

namespace metal {

template <class T>
struct uniform {
  T __value;
  uniform() = default;
  constexpr uniform(T value) : __value(value) {}
  template <class U>
  constexpr uniform(uniform<U> other) : __value(T(other.__value)) {}
  constexpr operator T() const { return __value; }
};
template <class T>
__MSL_INLINE constexpr uniform<T> make_uniform(T value) {
  return uniform<T>(value);
}
// Whether a value is the same in all active threads; AIR's function only feeds optimiser assumptions.
bool __is_uniform(bool) __MSL_PURE("air.is_uniform.i1");
bool __is_uniform(int) __MSL_PURE("air.is_uniform.i32");

} // namespace metal
