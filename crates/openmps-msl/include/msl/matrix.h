// matrix<T, C, R>: C columns of vec<T, R>, stored as an array of columns as Metal does.
#pragma once
#pragma clang system_header
#include "packed_vec.h"

namespace metal {

namespace __d {
// Column `c` of a matrix given as its C * R components in column order, or as a multiple of the identity.
template <class T, int R>
struct column;
template <class T>
struct column<T, 2> {
  static __MSL_INLINE constexpr vec<T, 2> at(const T* p) { return vec<T, 2>(p[0], p[1]); }
  static __MSL_INLINE constexpr vec<T, 2> diagonal(T s, int c) { return vec<T, 2>(c == 0 ? s : T(0), c == 1 ? s : T(0)); }
};
template <class T>
struct column<T, 3> {
  static __MSL_INLINE constexpr vec<T, 3> at(const T* p) { return vec<T, 3>(p[0], p[1], p[2]); }
  static __MSL_INLINE constexpr vec<T, 3> diagonal(T s, int c) {
    return vec<T, 3>(c == 0 ? s : T(0), c == 1 ? s : T(0), c == 2 ? s : T(0));
  }
};
template <class T>
struct column<T, 4> {
  static __MSL_INLINE constexpr vec<T, 4> at(const T* p) { return vec<T, 4>(p[0], p[1], p[2], p[3]); }
  static __MSL_INLINE constexpr vec<T, 4> diagonal(T s, int c) {
    return vec<T, 4>(c == 0 ? s : T(0), c == 1 ? s : T(0), c == 2 ? s : T(0), c == 3 ? s : T(0));
  }
};
} // namespace __d

template <class T, int C, int R>
struct matrix {
  typedef vec<T, R> __column;
  struct __components {
    T values[C * R];
  };
  template <class, int...>
  struct __indices {};
  __column columns[C];

  matrix() = default;
  __MSL_INLINE explicit constexpr matrix(T s) : matrix(s, __d::raw_tag()) {}
  // From columns.
  template <
      class... A,
      class = enable_if_t<sizeof...(A) == C && (C > 1) && (__is_same(remove_cvref_t<A>, vec<T, R>) && ...)>>
  __MSL_INLINE constexpr matrix(A... a) : columns{a...} {}
  // From components, column by column.
  template <class... A, class = enable_if_t<sizeof...(A) == C * R && (is_scalar_v<A> && ...)>, class = void>
  __MSL_INLINE constexpr matrix(A... a) : matrix(__components{{T(a)...}}, __d::raw_tag()) {}
  template <class U, class = enable_if_t<!__is_same(U, T)>>
  __MSL_INLINE explicit matrix(const matrix<U, C, R>& m) {
    for (int c = 0; c < C; c++) columns[c] = __column(m.columns[c]);
  }

  __MSL_INLINE __column& operator[](size_t c) { return columns[c]; }
  __MSL_INLINE constexpr const __column& operator[](size_t c) const { return columns[c]; }

  friend __MSL_INLINE matrix operator+(matrix a, matrix b) {
    for (int c = 0; c < C; c++) a.columns[c] += b.columns[c];
    return a;
  }
  friend __MSL_INLINE matrix operator-(matrix a, matrix b) {
    for (int c = 0; c < C; c++) a.columns[c] -= b.columns[c];
    return a;
  }
  friend __MSL_INLINE matrix operator-(matrix a) {
    for (int c = 0; c < C; c++) a.columns[c] = -a.columns[c];
    return a;
  }
  friend __MSL_INLINE matrix operator*(matrix a, T s) {
    for (int c = 0; c < C; c++) a.columns[c] *= s;
    return a;
  }
  friend __MSL_INLINE matrix operator*(T s, matrix a) { return a * s; }
  friend __MSL_INLINE matrix operator/(matrix a, T s) {
    for (int c = 0; c < C; c++) a.columns[c] /= s;
    return a;
  }
  friend __MSL_INLINE vec<T, R> operator*(matrix a, vec<T, C> v) {
    vec<T, R> r = a.columns[0] * v[0];
    for (int c = 1; c < C; c++) r += a.columns[c] * v[c];
    return r;
  }
  friend __MSL_INLINE vec<T, C> operator*(vec<T, R> v, matrix a) {
    vec<T, C> r;
    for (int c = 0; c < C; c++) {
      T s = v[0] * a.columns[c][0];
      for (int i = 1; i < R; i++) s += v[i] * a.columns[c][i];
      r[c] = s;
    }
    return r;
  }
  friend __MSL_INLINE bool operator==(matrix a, matrix b) {
    for (int c = 0; c < C; c++)
      for (int i = 0; i < R; i++)
        if (!(a.columns[c][i] == b.columns[c][i])) return false;
    return true;
  }
  friend __MSL_INLINE bool operator!=(matrix a, matrix b) { return !(a == b); }
  __MSL_INLINE matrix& operator+=(matrix b) { return *this = *this + b; }
  __MSL_INLINE matrix& operator-=(matrix b) { return *this = *this - b; }
  __MSL_INLINE matrix& operator*=(T s) { return *this = *this * s; }
  __MSL_INLINE matrix& operator/=(T s) { return *this = *this / s; }
  __MSL_INLINE matrix& operator*=(matrix<T, C, C> b) { return *this = *this * b; }

 private:
  __MSL_INLINE constexpr matrix(T s, __d::raw_tag) : matrix(s, __make_integer_seq<__indices, int, C>()) {}
  __MSL_INLINE constexpr matrix(const __components& p, __d::raw_tag)
      : matrix(p, __make_integer_seq<__indices, int, C>()) {}
  template <int... I>
  __MSL_INLINE constexpr matrix(T s, __indices<int, I...>) : columns{__d::column<T, R>::diagonal(s, I)...} {}
  template <int... I>
  __MSL_INLINE constexpr matrix(const __components& p, __indices<int, I...>)
      : columns{__d::column<T, R>::at(p.values + I * R)...} {}
};

template <class T, int C, int R, int K>
__MSL_INLINE matrix<T, K, R> operator*(matrix<T, C, R> a, matrix<T, K, C> b) {
  matrix<T, K, R> r;
  for (int k = 0; k < K; k++) r.columns[k] = a * b.columns[k];
  return r;
}
template <class T, int C, int R>
__MSL_INLINE matrix<T, R, C> transpose(matrix<T, C, R> a) {
  matrix<T, R, C> r;
  for (int c = 0; c < C; c++)
    for (int i = 0; i < R; i++) r.columns[i][c] = a.columns[c][i];
  return r;
}
template <class T>
__MSL_INLINE T determinant(matrix<T, 2, 2> m) {
  return m[0][0] * m[1][1] - m[0][1] * m[1][0];
}
template <class T>
__MSL_INLINE T determinant(matrix<T, 3, 3> m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[1][0] * (m[0][1] * m[2][2] - m[0][2] * m[2][1]) +
      m[2][0] * (m[0][1] * m[1][2] - m[0][2] * m[1][1]);
}
template <class T>
__MSL_INLINE T determinant(matrix<T, 4, 4> m) {
  // Laplace expansion by the 2 x 2 minors of the first two and the last two columns.
  T a0 = m[0][0] * m[1][1] - m[0][1] * m[1][0], a1 = m[0][0] * m[1][2] - m[0][2] * m[1][0];
  T a2 = m[0][0] * m[1][3] - m[0][3] * m[1][0], a3 = m[0][1] * m[1][2] - m[0][2] * m[1][1];
  T a4 = m[0][1] * m[1][3] - m[0][3] * m[1][1], a5 = m[0][2] * m[1][3] - m[0][3] * m[1][2];
  T b0 = m[2][0] * m[3][1] - m[2][1] * m[3][0], b1 = m[2][0] * m[3][2] - m[2][2] * m[3][0];
  T b2 = m[2][0] * m[3][3] - m[2][3] * m[3][0], b3 = m[2][1] * m[3][2] - m[2][2] * m[3][1];
  T b4 = m[2][1] * m[3][3] - m[2][3] * m[3][1], b5 = m[2][2] * m[3][3] - m[2][3] * m[3][2];
  return a0 * b5 - a1 * b4 + a2 * b3 + a3 * b2 - a4 * b1 + a5 * b0;
}

// The names of vectors and matrices. Packed vectors of bool do not exist in Metal.
#define __MSL_VECTORS(T)  \
  typedef vec<T, 2> T##2; \
  typedef vec<T, 3> T##3; \
  typedef vec<T, 4> T##4;
#define __MSL_PACKED(T)                 \
  typedef packed_vec<T, 2> packed_##T##2; \
  typedef packed_vec<T, 3> packed_##T##3; \
  typedef packed_vec<T, 4> packed_##T##4;
#define __MSL_MATRICES(T)        \
  typedef matrix<T, 2, 2> T##2x2; \
  typedef matrix<T, 2, 3> T##2x3; \
  typedef matrix<T, 2, 4> T##2x4; \
  typedef matrix<T, 3, 2> T##3x2; \
  typedef matrix<T, 3, 3> T##3x3; \
  typedef matrix<T, 3, 4> T##3x4; \
  typedef matrix<T, 4, 2> T##4x2; \
  typedef matrix<T, 4, 3> T##4x3; \
  typedef matrix<T, 4, 4> T##4x4;
#define __MSL_EACH_ARITHMETIC(M) \
  M(char) M(uchar) M(short) M(ushort) M(int) M(uint) M(long) M(ulong) M(half) M(bfloat) M(float)
__MSL_EACH_ARITHMETIC(__MSL_VECTORS)
__MSL_VECTORS(bool)
__MSL_EACH_ARITHMETIC(__MSL_PACKED)
__MSL_MATRICES(half)
__MSL_MATRICES(bfloat)
__MSL_MATRICES(float)
#undef __MSL_VECTORS
#undef __MSL_PACKED
#undef __MSL_MATRICES

} // namespace metal

// They are built-in types in Metal, so they have their names outside the namespace too.
#define __MSL_VECTORS(T) \
  using metal::T##2;     \
  using metal::T##3;     \
  using metal::T##4;
#define __MSL_PACKED(T)      \
  using metal::packed_##T##2; \
  using metal::packed_##T##3; \
  using metal::packed_##T##4;
#define __MSL_MATRICES(T) \
  using metal::T##2x2;    \
  using metal::T##2x3;    \
  using metal::T##2x4;    \
  using metal::T##3x2;    \
  using metal::T##3x3;    \
  using metal::T##3x4;    \
  using metal::T##4x2;    \
  using metal::T##4x3;    \
  using metal::T##4x4;
__MSL_EACH_ARITHMETIC(__MSL_VECTORS)
__MSL_VECTORS(bool)
__MSL_EACH_ARITHMETIC(__MSL_PACKED)
__MSL_MATRICES(half)
__MSL_MATRICES(bfloat)
__MSL_MATRICES(float)
#undef __MSL_VECTORS
#undef __MSL_PACKED
#undef __MSL_MATRICES
#undef __MSL_EACH_ARITHMETIC
