// `metal_integer`: integer functions for the eight integer types; vectors act per component.
#pragma once
#pragma clang system_header
#include "math.h"

namespace metal {

// Declares one function for each type; AIR's name carries the sign where it matters.
#define __MSL_SIGNED_TYPES(M, op, air)                                                  \
  M(char, op, "air." #air ".s.i8") M(uchar, op, "air." #air ".u.i8")                    \
  M(short, op, "air." #air ".s.i16") M(ushort, op, "air." #air ".u.i16")                \
  M(int, op, "air." #air ".s.i32") M(uint, op, "air." #air ".u.i32")                    \
  M(long, op, "air." #air ".s.i64") M(ulong, op, "air." #air ".u.i64")
#define __MSL_PLAIN_TYPES(M, op, air)                                         \
  M(char, op, "air." #air ".i8") M(uchar, op, "air." #air ".i8")              \
  M(short, op, "air." #air ".i16") M(ushort, op, "air." #air ".i16")          \
  M(int, op, "air." #air ".i32") M(uint, op, "air." #air ".i32")              \
  M(long, op, "air." #air ".i64") M(ulong, op, "air." #air ".i64")
#define __MSL_DECLARE1(T, op, name) T op(T) __MSL_PURE(name);
#define __MSL_DECLARE2(T, op, name) T op(T, T) __MSL_PURE(name);
#define __MSL_DECLARE3(T, op, name) T op(T, T, T) __MSL_PURE(name);
// The second operand says whether zero is undefined; it never is.
#define __MSL_DECLARE_COUNT(T, op, name) T __##op(T, bool) __MSL_PURE(name);

#define __MSL_VECTOR1(op)                                          \
  template <class T, int N>                                        \
  __MSL_INLINE __d::if_integer<T, vec<T, N>> op(vec<T, N> a) {     \
    vec<T, N> r;                                                   \
    for (int i = 0; i < N; i++) r[i] = op(a[i]);                   \
    return r;                                                      \
  }
#define __MSL_VECTOR2(op)                                                          \
  template <class T, int N>                                                        \
  __MSL_INLINE __d::if_integer<T, vec<T, N>> op(vec<T, N> a, vec<T, N> b) {        \
    vec<T, N> r;                                                                   \
    for (int i = 0; i < N; i++) r[i] = op(a[i], b[i]);                             \
    return r;                                                                      \
  }                                                                                \
  template <class T, int N>                                                        \
  __MSL_INLINE __d::if_integer<T, vec<T, N>> op(vec<T, N> a, __d::id_t<T> b) {     \
    return op(a, vec<T, N>(b));                                                    \
  }                                                                                \
  template <class T, int N>                                                        \
  __MSL_INLINE __d::if_integer<T, vec<T, N>> op(__d::id_t<T> a, vec<T, N> b) {     \
    return op(vec<T, N>(a), b);                                                    \
  }
#define __MSL_VECTOR3(op)                                                                     \
  template <class T, int N>                                                                   \
  __MSL_INLINE __d::if_integer<T, vec<T, N>> op(vec<T, N> a, vec<T, N> b, vec<T, N> c) {      \
    vec<T, N> r;                                                                              \
    for (int i = 0; i < N; i++) r[i] = op(a[i], b[i], c[i]);                                  \
    return r;                                                                                 \
  }

#define __MSL_SIGNED1(op, air) __MSL_SIGNED_TYPES(__MSL_DECLARE1, op, air) __MSL_VECTOR1(op)
#define __MSL_SIGNED2(op, air) __MSL_SIGNED_TYPES(__MSL_DECLARE2, op, air) __MSL_VECTOR2(op)
#define __MSL_SIGNED3(op, air) __MSL_SIGNED_TYPES(__MSL_DECLARE3, op, air) __MSL_VECTOR3(op)
__MSL_SIGNED1(abs, abs)
__MSL_SIGNED2(absdiff, abs_diff)
__MSL_SIGNED2(addsat, add_sat)
__MSL_SIGNED3(clamp, clamp)
__MSL_SIGNED2(hadd, hadd)
__MSL_SIGNED2(max, max)
__MSL_SIGNED2(min, min)
__MSL_SIGNED2(mulhi, mul_hi)
__MSL_SIGNED2(rhadd, rhadd)
__MSL_SIGNED2(subsat, sub_sat)
__MSL_PLAIN_TYPES(__MSL_DECLARE1, popcount, popcount)
__MSL_VECTOR1(popcount)
__MSL_PLAIN_TYPES(__MSL_DECLARE1, reverse_bits, reverse_bits)
__MSL_VECTOR1(reverse_bits)
__MSL_PLAIN_TYPES(__MSL_DECLARE2, rotate, rotate)
__MSL_VECTOR2(rotate)
__MSL_PLAIN_TYPES(__MSL_DECLARE_COUNT, clz, clz)
__MSL_PLAIN_TYPES(__MSL_DECLARE_COUNT, ctz, ctz)

#define __MSL_COUNT(op)                                          \
  template <class T>                                             \
  __MSL_INLINE __d::if_integer<T, T> op(T a) {                   \
    return __##op(a, false);                                     \
  }
__MSL_COUNT(clz)
__MSL_VECTOR1(clz)
__MSL_COUNT(ctz)
__MSL_VECTOR1(ctz)

template <class T, int N>
__MSL_INLINE __d::if_integer<T, vec<T, N>> clamp(vec<T, N> x, __d::id_t<T> low, __d::id_t<T> high) {
  return clamp(x, vec<T, N>(low), vec<T, N>(high));
}

// Compositions of the above and of plain arithmetic.
#define __MSL_COMPOSED(T)                                                                      \
  __MSL_LAZY T min3(T a, T b, T c) { return min(a, min(b, c)); }                               \
  __MSL_LAZY T max3(T a, T b, T c) { return max(a, max(b, c)); }                               \
  __MSL_LAZY T median3(T a, T b, T c) { return max(min(a, b), min(max(a, b), c)); }            \
  __MSL_LAZY T madhi(T a, T b, T c) { return T(mulhi(a, b) + c); }
__MSL_COMPOSED(char)
__MSL_COMPOSED(uchar)
__MSL_COMPOSED(short)
__MSL_COMPOSED(ushort)
__MSL_COMPOSED(int)
__MSL_COMPOSED(uint)
__MSL_COMPOSED(long)
__MSL_COMPOSED(ulong)
__MSL_VECTOR3(min3)
__MSL_VECTOR3(max3)
__MSL_VECTOR3(median3)
__MSL_VECTOR3(madhi)

// mul24 and mad24 use the low 24 bits of their factors.
__MSL_LAZY int mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
__MSL_LAZY uint mul24(uint a, uint b) { return (a & 0xffffffu) * (b & 0xffffffu); }
__MSL_LAZY int mad24(int a, int b, int c) { return int(uint(mul24(a, b)) + uint(c)); }
__MSL_LAZY uint mad24(uint a, uint b, uint c) { return mul24(a, b) + c; }
__MSL_VECTOR2(mul24)
__MSL_VECTOR3(mad24)

// a * b + c in twice the width, clamped to the type.
template <class T>
__MSL_INLINE __d::if_integer<T, T> madsat(T a, __d::id_t<T> b, __d::id_t<T> c) {
  typedef numeric_limits<T> limits;
  if constexpr (sizeof(T) < 8) {
    long wide = long(a) * long(b);
    if constexpr (is_unsigned_v<T>) {
      ulong sum = ulong(wide) + ulong(c);
      return T(sum < ulong(limits::max()) ? sum : ulong(limits::max()));
    } else {
      long sum = wide + long(c);
      return T(sum < long(limits::min()) ? long(limits::min()) : sum > long(limits::max()) ? long(limits::max()) : sum);
    }
  } else {
    T high = mulhi(a, b), low = T(ulong(a) * ulong(b));
    T sum = T(ulong(low) + ulong(c));
    if constexpr (is_unsigned_v<T>) {
      return high != 0 || sum < low ? limits::max() : sum;
    } else {
      // Carry of the low halves' unsigned sum and the sign extension of c make the high half of the exact result.
      T carry = T(high + (ulong(sum) < ulong(low) ? 1 : 0) + (c < 0 ? -1 : 0));
      return carry == (sum >> 63) ? sum : carry < 0 ? limits::min() : limits::max();
    }
  }
}
__MSL_VECTOR3(madsat)

// Bits [offset, offset + count) of a value, sign-extended for signed types; and their replacement.
template <class T>
__MSL_INLINE __d::if_integer<T, T> extract_bits(T x, uint offset, uint count) {
  constexpr uint width = sizeof(T) * 8;
  if (count == 0) return T(0);
  return T(T(make_unsigned_t<T>(x) << (width - offset - count)) >> (width - count));
}
template <class T>
__MSL_INLINE __d::if_integer<T, T> insert_bits(T base, __d::id_t<T> insert, uint offset, uint count) {
  typedef make_unsigned_t<T> U;
  if (count == 0) return base;
  U mask = U(U(U(~U(0)) >> (sizeof(T) * 8 - count)) << offset);
  return T((U(base) & U(~mask)) | (U(U(insert) << offset) & mask));
}
template <class T, int N>
__MSL_INLINE __d::if_integer<T, vec<T, N>> extract_bits(vec<T, N> x, uint offset, uint count) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = extract_bits(x[i], offset, count);
  return r;
}
template <class T, int N>
__MSL_INLINE __d::if_integer<T, vec<T, N>> insert_bits(vec<T, N> base, vec<T, N> insert, uint offset, uint count) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = insert_bits(base[i], insert[i], offset, count);
  return r;
}

#undef __MSL_SIGNED_TYPES
#undef __MSL_PLAIN_TYPES
#undef __MSL_DECLARE1
#undef __MSL_DECLARE2
#undef __MSL_DECLARE3
#undef __MSL_DECLARE_COUNT
#undef __MSL_VECTOR1
#undef __MSL_VECTOR2
#undef __MSL_VECTOR3
#undef __MSL_SIGNED1
#undef __MSL_SIGNED2
#undef __MSL_SIGNED3
#undef __MSL_COUNT
#undef __MSL_COMPOSED

} // namespace metal
