// metal::array: a fixed-size array as a value.
#pragma once
#pragma clang system_header
#include "scalars.h"

namespace metal {

template <class T, size_t N>
struct array {
  typedef T value_type;
  typedef size_t size_type;
  T __elements[N];

  __MSL_INLINE constexpr T& operator[](size_t i) { return __elements[i]; }
  __MSL_INLINE constexpr const T& operator[](size_t i) const { return __elements[i]; }
  __MSL_INLINE constexpr T& at(size_t i) { return __elements[i]; }
  __MSL_INLINE constexpr const T& at(size_t i) const { return __elements[i]; }
  __MSL_INLINE constexpr T& front() { return __elements[0]; }
  __MSL_INLINE constexpr const T& front() const { return __elements[0]; }
  __MSL_INLINE constexpr T& back() { return __elements[N - 1]; }
  __MSL_INLINE constexpr const T& back() const { return __elements[N - 1]; }
  __MSL_INLINE constexpr T* data() { return __elements; }
  __MSL_INLINE constexpr const T* data() const { return __elements; }
  __MSL_INLINE constexpr T* begin() { return __elements; }
  __MSL_INLINE constexpr const T* begin() const { return __elements; }
  __MSL_INLINE constexpr T* end() { return __elements + N; }
  __MSL_INLINE constexpr const T* end() const { return __elements + N; }
  __MSL_INLINE constexpr size_t size() const { return N; }
  __MSL_INLINE constexpr size_t max_size() const { return N; }
  __MSL_INLINE constexpr bool empty() const { return false; }
  __MSL_INLINE constexpr void fill(const T& value) {
    for (size_t i = 0; i < N; i++) __elements[i] = value;
  }
  friend __MSL_INLINE constexpr bool operator==(const array& a, const array& b) {
    for (size_t i = 0; i < N; i++)
      if (!(a[i] == b[i])) return false;
    return true;
  }
  friend __MSL_INLINE constexpr bool operator!=(const array& a, const array& b) { return !(a == b); }
};

template <class T>
struct array<T, 0> {
  typedef T value_type;
  __MSL_INLINE constexpr size_t size() const { return 0; }
  __MSL_INLINE constexpr size_t max_size() const { return 0; }
  __MSL_INLINE constexpr bool empty() const { return true; }
};

} // namespace metal
