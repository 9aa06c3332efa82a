// `metal_limits`: numeric_limits. `_numeric_limits_impl` is its base because public kernels specialise that name for their types.
#pragma once
#pragma clang system_header
#include "traits.h"

namespace metal {

enum float_round_style {
  round_indeterminate = -1,
  round_toward_zero = 0,
  round_to_nearest = 1,
  round_toward_infinity = 2,
  round_toward_neg_infinity = 3
};
enum float_denorm_style { denorm_indeterminate = -1, denorm_absent = 0, denorm_present = 1 };

template <class T>
struct _numeric_limits_impl {
  static constexpr constant bool is_specialized = false;
};

namespace __d {
template <class T, int Digits, bool Signed>
struct integer_limits {
  static constexpr constant bool is_specialized = true, is_signed = Signed, is_integer = true, is_exact = true;
  static constexpr constant bool has_infinity = false, has_quiet_NaN = false, has_signaling_NaN = false;
  static constexpr constant bool has_denorm_loss = false, is_iec559 = false, is_bounded = true, is_modulo = !Signed;
  static constexpr constant bool traps = false, tinyness_before = false;
  static constexpr constant float_denorm_style has_denorm = denorm_absent;
  static constexpr constant float_round_style round_style = round_toward_zero;
  static constexpr constant int digits = Digits, digits10 = Digits * 301 / 1000, max_digits10 = 0, radix = 2;
  static constexpr constant int min_exponent = 0, min_exponent10 = 0, max_exponent = 0, max_exponent10 = 0;
  static constexpr T max() { return T(~0ul >> (64 - Digits)); }
  static constexpr T min() { return T(Signed ? -long(~0ul >> (64 - Digits)) - 1 : 0); }
  static constexpr T lowest() { return min(); }
  static constexpr T epsilon() { return T(0); }
  static constexpr T round_error() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
  static constexpr T signaling_NaN() { return T(0); }
  static constexpr T denorm_min() { return T(0); }
};

struct floating_limits {
  static constexpr constant bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr constant bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr constant bool has_denorm_loss = false, is_iec559 = true, is_bounded = true, is_modulo = false;
  static constexpr constant bool traps = false, tinyness_before = false;
  static constexpr constant float_denorm_style has_denorm = denorm_present;
  static constexpr constant float_round_style round_style = round_to_nearest;
  static constexpr constant int radix = 2;
};
} // namespace __d

template <> struct _numeric_limits_impl<bool> : __d::integer_limits<bool, 1, false> {};
template <> struct _numeric_limits_impl<char> : __d::integer_limits<char, 7, true> {};
template <> struct _numeric_limits_impl<signed char> : __d::integer_limits<signed char, 7, true> {};
template <> struct _numeric_limits_impl<uchar> : __d::integer_limits<uchar, 8, false> {};
template <> struct _numeric_limits_impl<short> : __d::integer_limits<short, 15, true> {};
template <> struct _numeric_limits_impl<ushort> : __d::integer_limits<ushort, 16, false> {};
template <> struct _numeric_limits_impl<int> : __d::integer_limits<int, 31, true> {};
template <> struct _numeric_limits_impl<uint> : __d::integer_limits<uint, 32, false> {};
template <> struct _numeric_limits_impl<long> : __d::integer_limits<long, 63, true> {};
template <> struct _numeric_limits_impl<ulong> : __d::integer_limits<ulong, 64, false> {};
template <> struct _numeric_limits_impl<long long> : __d::integer_limits<long long, 63, true> {};
template <> struct _numeric_limits_impl<unsigned long long> : __d::integer_limits<unsigned long long, 64, false> {};

#define __MSL_FLOATING_LIMITS(T, prefix, smallest)                                    \
  template <>                                                                         \
  struct _numeric_limits_impl<T> : __d::floating_limits {                             \
    static constexpr constant int digits = prefix##_MANT_DIG, digits10 = prefix##_DIG; \
    static constexpr constant int max_digits10 = prefix##_DECIMAL_DIG;                \
    static constexpr constant int min_exponent = prefix##_MIN_EXP;                    \
    static constexpr constant int min_exponent10 = prefix##_MIN_10_EXP;               \
    static constexpr constant int max_exponent = prefix##_MAX_EXP;                    \
    static constexpr constant int max_exponent10 = prefix##_MAX_10_EXP;               \
    static constexpr T min() { return prefix##_MIN; }                                 \
    static constexpr T max() { return prefix##_MAX; }                                 \
    static constexpr T lowest() { return -prefix##_MAX; }                             \
    static constexpr T epsilon() { return prefix##_EPSILON; }                         \
    static constexpr T round_error() { return T(0.5f); }                              \
    static constexpr T infinity() { return T(__builtin_inff()); }                     \
    static constexpr T quiet_NaN() { return T(__builtin_nanf("")); }                  \
    static constexpr T signaling_NaN() { return T(__builtin_nanf("")); }              \
    static constexpr T denorm_min() { return T(smallest); }                           \
  };
__MSL_FLOATING_LIMITS(float, FLT, 1.40129846e-45f)
__MSL_FLOATING_LIMITS(half, HALF, 5.9604644775390625e-8f)
__MSL_FLOATING_LIMITS(bfloat, BFLT, 9.18354962e-41f)
#undef __MSL_FLOATING_LIMITS

template <class T>
struct numeric_limits : _numeric_limits_impl<remove_cv_t<T>> {};

} // namespace metal
