// Conversions that clang lacks: the helpers that the rewriter puts into the user's text, and as_type.
//
// Metal converts explicitly between half and bfloat; clang has no such conversion, so it goes through float, which is exact
// for either source. Class types do not convert between address spaces in `?:`, so the rewriter copies such operands by value.
#pragma once
#pragma clang system_header
#include "traits.h"

namespace __air {

template <class T, class U>
constexpr bool is_half_bfloat = false;
template <>
constexpr bool is_half_bfloat<half, bfloat> = true;
template <>
constexpr bool is_half_bfloat<bfloat, half> = true;

// What `static_cast<T>(u)` in the user's text means.
template <class T, class U>
__MSL_INLINE constexpr T cast(U&& u) {
  if constexpr (is_half_bfloat<metal::__d::plain<T>, metal::remove_cvref_t<U>>)
    return (T)(float)u;
  else
    return static_cast<T>(static_cast<U&&>(u));
}

// `to<T>{} ->* x` is what `(T)x` means for half and bfloat: `->*` binds as a cast does.
template <class T>
struct to {
  template <class U>
  friend __MSL_INLINE constexpr T operator->*(to, const U& u) {
    return __air::cast<T>(u);
  }
};

// A by-value copy from any address space; an array becomes the pointer to its first element.
template <class T>
__MSL_INLINE constexpr T rv(const T& t) {
  return t;
}
template <class T, size_t N>
__MSL_INLINE constexpr T* rv(T (&t)[N]) {
  return t;
}
#define __MSL_COPY_FROM(space)                                   \
  template <class T>                                             \
  __MSL_INLINE constexpr metal::remove_const_t<T> rv(space T& t) { \
    return t;                                                    \
  }                                                              \
  template <class T>                                             \
  __MSL_INLINE constexpr T rv(const space T& t) {                \
    return t;                                                    \
  }                                                              \
  template <class T, size_t N>                                   \
  __MSL_INLINE constexpr space T* rv(space T (&t)[N]) {          \
    return t;                                                    \
  }
__MSL_COPY_FROM(device)
__MSL_COPY_FROM(threadgroup)
#undef __MSL_COPY_FROM
template <class T>
__MSL_INLINE constexpr T rv(constant T& t) {
  return t;
}
template <class T, size_t N>
__MSL_INLINE constexpr constant T* rv(constant T (&t)[N]) {
  return t;
}

} // namespace __air

template <class To, class From>
__MSL_INLINE constexpr To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs types of one size");
  return __builtin_bit_cast(To, from);
}

namespace metal {
using ::as_type;
}
