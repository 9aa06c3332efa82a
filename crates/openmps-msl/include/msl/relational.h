// `metal_relational`: classification, comparison and selection. Results for vectors are bool vectors.
#pragma once
#pragma clang system_header
#include "math.h"

namespace metal {

#define __MSL_CLASSIFY(T, U)                                                                      \
  __MSL_LAZY bool isnan(T x) { return __builtin_isnan(x); }                                       \
  __MSL_LAZY bool isinf(T x) { return __builtin_isinf(x); }                                       \
  __MSL_LAZY bool isfinite(T x) { return __builtin_isfinite(x); }                                 \
  __MSL_LAZY bool isnormal(T x) { return __builtin_isnormal(x); }                                 \
  __MSL_LAZY bool signbit(T x) { return (as_type<U>(x) >> (sizeof(U) * 8 - 1)) != 0; }            \
  __MSL_LAZY bool isordered(T x, T y) { return !__builtin_isunordered((float)x, (float)y); }      \
  __MSL_LAZY bool isunordered(T x, T y) { return __builtin_isunordered((float)x, (float)y); }
__MSL_CLASSIFY(float, uint)
__MSL_CLASSIFY(half, ushort)
#undef __MSL_CLASSIFY

#define __MSL_VECTOR1(op)                                           \
  template <class T, int N>                                         \
  __MSL_INLINE __d::if_math<T, vec<bool, N>> op(vec<T, N> x) {      \
    vec<bool, N> r;                                                 \
    for (int i = 0; i < N; i++) r[i] = op(x[i]);                    \
    return r;                                                       \
  }
#define __MSL_VECTOR2(op)                                                       \
  template <class T, int N>                                                     \
  __MSL_INLINE __d::if_math<T, vec<bool, N>> op(vec<T, N> x, vec<T, N> y) {     \
    vec<bool, N> r;                                                             \
    for (int i = 0; i < N; i++) r[i] = op(x[i], y[i]);                          \
    return r;                                                                   \
  }
__MSL_VECTOR1(isnan)
__MSL_VECTOR1(isinf)
__MSL_VECTOR1(isfinite)
__MSL_VECTOR1(isnormal)
__MSL_VECTOR1(signbit)
__MSL_VECTOR2(isordered)
__MSL_VECTOR2(isunordered)
#undef __MSL_VECTOR1
#undef __MSL_VECTOR2

__MSL_LAZY bool all(bool x) { return x; }
__MSL_LAZY bool any(bool x) { return x; }
template <int N>
__MSL_INLINE bool all(vec<bool, N> x) {
  bool r = x[0];
  for (int i = 1; i < N; i++) r = r & x[i];
  return r;
}
template <int N>
__MSL_INLINE bool any(vec<bool, N> x) {
  bool r = x[0];
  for (int i = 1; i < N; i++) r = r | x[i];
  return r;
}

// select(a, b, c) is c ? b : a.
#define __MSL_SELECT(T) \
  __MSL_LAZY T select(T a, T b, bool c) { return c ? b : a; }
__MSL_SELECT(bool)
__MSL_SELECT(char)
__MSL_SELECT(uchar)
__MSL_SELECT(short)
__MSL_SELECT(ushort)
__MSL_SELECT(int)
__MSL_SELECT(uint)
__MSL_SELECT(long)
__MSL_SELECT(ulong)
__MSL_SELECT(half)
__MSL_SELECT(bfloat)
__MSL_SELECT(float)
#undef __MSL_SELECT
template <class T, int N>
__MSL_INLINE vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = c[i] ? b[i] : a[i];
  return r;
}
template <class T, int N>
__MSL_INLINE vec<T, N> select(vec<T, N> a, vec<T, N> b, bool c) {
  return c ? b : a;
}

} // namespace metal
