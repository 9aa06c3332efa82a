// Names of Apple's <simd/simd.h> for vectors and matrices, as they are seen from Metal.
#pragma once
#pragma clang system_header
#include <metal_stdlib>

#define __MSL_NAMES(T, name)                \
  typedef metal::vec<T, 2> simd_##name##2;  \
  typedef metal::vec<T, 3> simd_##name##3;  \
  typedef metal::vec<T, 4> simd_##name##4;  \
  typedef metal::vec<T, 2> vector_##name##2; \
  typedef metal::vec<T, 3> vector_##name##3; \
  typedef metal::vec<T, 4> vector_##name##4; \
  namespace simd {                          \
  typedef metal::vec<T, 2> name##2;         \
  typedef metal::vec<T, 3> name##3;         \
  typedef metal::vec<T, 4> name##4;         \
  }
__MSL_NAMES(char, char)
__MSL_NAMES(uchar, uchar)
__MSL_NAMES(short, short)
__MSL_NAMES(ushort, ushort)
__MSL_NAMES(int, int)
__MSL_NAMES(uint, uint)
__MSL_NAMES(long, long)
__MSL_NAMES(ulong, ulong)
__MSL_NAMES(half, half)
__MSL_NAMES(float, float)
#undef __MSL_NAMES

#define __MSL_NAMES(T, C, R)                        \
  typedef metal::matrix<T, C, R> simd_##T##C##x##R;   \
  typedef metal::matrix<T, C, R> matrix_##T##C##x##R; \
  namespace simd {                                    \
  typedef metal::matrix<T, C, R> T##C##x##R;          \
  }
#define __MSL_ROWS(T, C) __MSL_NAMES(T, C, 2) __MSL_NAMES(T, C, 3) __MSL_NAMES(T, C, 4)
__MSL_ROWS(half, 2)
__MSL_ROWS(half, 3)
__MSL_ROWS(half, 4)
__MSL_ROWS(float, 2)
__MSL_ROWS(float, 3)
__MSL_ROWS(float, 4)
#undef __MSL_ROWS
#undef __MSL_NAMES
