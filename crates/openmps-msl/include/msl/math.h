// `metal_math`: float and half functions in namespaces `precise` and `fast`, and in `metal` the one of them that the math mode
// selects (`__FAST_MATH__`).
//
// Scalars are declarations bound to AIR's names; vectors are templates that pass raw vectors to declarations in `__air`.
// bfloat has no math functions in Metal: kernels define their own, so it must not have any here.
#pragma once
#pragma clang system_header
#include "matrix.h"

// Functions with fast_ twins in AIR, by number of operands, and those without.
#define __MSL_FAST_UNARY(M)                                                                                     \
  M(acos) M(acosh) M(asin) M(asinh) M(atan) M(atanh) M(ceil) M(cos) M(cosh) M(cospi) M(exp) M(exp2) M(exp10)    \
  M(fabs) M(floor) M(fract) M(log) M(log2) M(log10) M(rint) M(round) M(rsqrt) M(saturate) M(sin) M(sinh) M(sinpi) \
  M(sqrt) M(tan) M(tanh) M(tanpi) M(trunc)
#define __MSL_FAST_BINARY(M) M(atan2) M(fmax) M(fmin) M(fmod) M(pow) M(powr)
#define __MSL_FAST_TERNARY(M) M(fmax3) M(fmedian3) M(fmin3)
#define __MSL_PLAIN_BINARY(M) M(copysign) M(fdim) M(nextafter)
#define __MSL_PLAIN_TERNARY(M) M(fma)

// What one function needs. `F` is the name's prefix for float in the namespace at hand: "fast_" or nothing.
#define __MSL_SCALAR1(F, op)                        \
  float op(float) __MSL_PURE("air." F #op ".f32"); \
  half op(half) __MSL_PURE("air." #op ".f16");
#define __MSL_SCALAR2(F, op)                               \
  float op(float, float) __MSL_PURE("air." F #op ".f32"); \
  half op(half, half) __MSL_PURE("air." #op ".f16");
#define __MSL_SCALAR3(F, op)                                      \
  float op(float, float, float) __MSL_PURE("air." F #op ".f32"); \
  half op(half, half, half) __MSL_PURE("air." #op ".f16");
#define __MSL_RAW(T, N) metal::__d::raw<T, N>
#define __MSL_RAW1(F, op, T, N, suffix) __MSL_RAW(T, N) op(__MSL_RAW(T, N)) __MSL_PURE("air." F #op "." suffix);
#define __MSL_RAW2(F, op, T, N, suffix) \
  __MSL_RAW(T, N) op(__MSL_RAW(T, N), __MSL_RAW(T, N)) __MSL_PURE("air." F #op "." suffix);
#define __MSL_RAW3(F, op, T, N, suffix) \
  __MSL_RAW(T, N) op(__MSL_RAW(T, N), __MSL_RAW(T, N), __MSL_RAW(T, N)) __MSL_PURE("air." F #op "." suffix);
#define __MSL_EACH_RAW(M, F, op)                                                          \
  M(F, op, float, 2, "v2f32") M(F, op, float, 3, "v3f32") M(F, op, float, 4, "v4f32")     \
  M("", op, half, 2, "v2f16") M("", op, half, 3, "v3f16") M("", op, half, 4, "v4f16")
#define __MSL_VECTOR1(ns, op)                                               \
  template <class T, int N>                                                 \
  __MSL_INLINE __d::if_math<T, vec<T, N>> op(vec<T, N> a) {                 \
    return vec<T, N>(__air::ns::op(a.__v), __d::raw_tag());                 \
  }
// A vector and a scalar: the scalar is not deduced, so `pow(v, 2)` converts it.
#define __MSL_VECTOR2(ns, op)                                                    \
  template <class T, int N>                                                      \
  __MSL_INLINE __d::if_math<T, vec<T, N>> op(vec<T, N> a, vec<T, N> b) {         \
    return vec<T, N>(__air::ns::op(a.__v, b.__v), __d::raw_tag());               \
  }                                                                              \
  template <class T, int N>                                                      \
  __MSL_INLINE __d::if_math<T, vec<T, N>> op(vec<T, N> a, __d::id_t<T> b) {      \
    return vec<T, N>(__air::ns::op(a.__v, vec<T, N>(b).__v), __d::raw_tag());    \
  }                                                                              \
  template <class T, int N>                                                      \
  __MSL_INLINE __d::if_math<T, vec<T, N>> op(__d::id_t<T> a, vec<T, N> b) {      \
    return vec<T, N>(__air::ns::op(vec<T, N>(a).__v, b.__v), __d::raw_tag());    \
  }
#define __MSL_VECTOR3(ns, op)                                                          \
  template <class T, int N>                                                            \
  __MSL_INLINE __d::if_math<T, vec<T, N>> op(vec<T, N> a, vec<T, N> b, vec<T, N> c) {  \
    return vec<T, N>(__air::ns::op(a.__v, b.__v, c.__v), __d::raw_tag());              \
  }

// Raw declarations. The functions without fast twins are the same in both namespaces, so `fast` uses those of `precise`.
namespace __air {
namespace precise {
#define __MSL_M(op) __MSL_EACH_RAW(__MSL_RAW1, "", op)
__MSL_FAST_UNARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op) __MSL_EACH_RAW(__MSL_RAW2, "", op)
__MSL_FAST_BINARY(__MSL_M)
__MSL_PLAIN_BINARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op) __MSL_EACH_RAW(__MSL_RAW3, "", op)
__MSL_FAST_TERNARY(__MSL_M)
__MSL_PLAIN_TERNARY(__MSL_M)
__MSL_M(clamp)
#undef __MSL_M
} // namespace precise
namespace fast {
#define __MSL_M(op) __MSL_EACH_RAW(__MSL_RAW1, "fast_", op)
__MSL_FAST_UNARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op) __MSL_EACH_RAW(__MSL_RAW2, "fast_", op)
__MSL_FAST_BINARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op) __MSL_EACH_RAW(__MSL_RAW3, "fast_", op)
__MSL_FAST_TERNARY(__MSL_M)
__MSL_M(clamp)
#undef __MSL_M
#define __MSL_M(op) using precise::op;
__MSL_PLAIN_BINARY(__MSL_M)
__MSL_PLAIN_TERNARY(__MSL_M)
#undef __MSL_M
} // namespace fast
// The dot product has no fast twin.
#define __MSL_DOT(T, N, suffix) T dot(__MSL_RAW(T, N), __MSL_RAW(T, N)) __MSL_PURE("air.dot." suffix);
__MSL_DOT(float, 2, "v2f32")
__MSL_DOT(float, 3, "v3f32")
__MSL_DOT(float, 4, "v4f32")
__MSL_DOT(half, 2, "v2f16")
__MSL_DOT(half, 3, "v3f16")
__MSL_DOT(half, 4, "v4f16")
#undef __MSL_DOT
} // namespace __air

namespace metal {
#define __MSL_MATH_NAMESPACE precise
#define __MSL_MATH_PREFIX ""
#include "math_namespace.h"
#undef __MSL_MATH_NAMESPACE
#undef __MSL_MATH_PREFIX
#define __MSL_MATH_NAMESPACE fast
#define __MSL_MATH_PREFIX "fast_"
#include "math_namespace.h"
#undef __MSL_MATH_NAMESPACE
#undef __MSL_MATH_PREFIX

#ifdef __FAST_MATH__
#define __MSL_M(op) using fast::op;
#else
#define __MSL_M(op) using precise::op;
#endif
__MSL_FAST_UNARY(__MSL_M)
__MSL_FAST_BINARY(__MSL_M)
__MSL_FAST_TERNARY(__MSL_M)
__MSL_PLAIN_BINARY(__MSL_M)
__MSL_PLAIN_TERNARY(__MSL_M)
__MSL_M(abs)
__MSL_M(clamp)
__MSL_M(cross)
__MSL_M(distance)
__MSL_M(distance_squared)
__MSL_M(divide)
__MSL_M(dot)
__MSL_M(faceforward)
__MSL_M(length)
__MSL_M(length_squared)
__MSL_M(max)
__MSL_M(max3)
__MSL_M(median3)
__MSL_M(min)
__MSL_M(min3)
__MSL_M(mix)
__MSL_M(normalize)
__MSL_M(reflect)
__MSL_M(refract)
__MSL_M(sign)
__MSL_M(sincos)
__MSL_M(smoothstep)
__MSL_M(step)
#undef __MSL_M

// Functions on the representation: one form for both modes.
float ldexp(float, int) __MSL_PURE("air.ldexp.f32");
half ldexp(half, int) __MSL_PURE("air.ldexp.f16");
int ilogb(float) __MSL_PURE("air.ilogb.f32");
int ilogb(half) __MSL_PURE("air.ilogb.f16");
float __frexp(float, thread int*) __MSL_EFFECT("air.frexp.f32");
half __frexp(half, thread int*) __MSL_EFFECT("air.frexp.f16");
float __modf(float, thread float*) __MSL_EFFECT("air.modf.f32");
half __modf(half, thread half*) __MSL_EFFECT("air.modf.f16");
__MSL_LAZY float frexp(float x, thread int& exponent) { return __frexp(x, &exponent); }
__MSL_LAZY half frexp(half x, thread int& exponent) { return __frexp(x, &exponent); }
__MSL_LAZY float modf(float x, thread float& whole) { return __modf(x, &whole); }
__MSL_LAZY half modf(half x, thread half& whole) { return __modf(x, &whole); }

template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> ldexp(vec<T, N> x, vec<int, N> k) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = ldexp(x[i], k[i]);
  return r;
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<int, N>> ilogb(vec<T, N> x) {
  vec<int, N> r;
  for (int i = 0; i < N; i++) r[i] = ilogb(x[i]);
  return r;
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> frexp(vec<T, N> x, thread vec<int, N>& exponent) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = __frexp(x[i], &exponent[i]);
  return r;
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> modf(vec<T, N> x, thread vec<T, N>& whole) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = __modf(x[i], &whole[i]);
  return r;
}
} // namespace metal

// The form under which Apple's library offers them to its own headers, and public kernels call them: the last operand chooses.
#define __MSL_M(op)                                                  \
  template <class T>                                                 \
  __MSL_INLINE T __metal_##op(T a, bool fast) {                      \
    return fast ? metal::fast::op(a) : metal::precise::op(a);        \
  }
__MSL_FAST_UNARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op)                                                  \
  template <class T>                                                 \
  __MSL_INLINE T __metal_##op(T a, T b, bool fast) {                 \
    return fast ? metal::fast::op(a, b) : metal::precise::op(a, b);  \
  }
__MSL_FAST_BINARY(__MSL_M)
__MSL_PLAIN_BINARY(__MSL_M)
__MSL_M(divide)
#undef __MSL_M
#define __MSL_M(op)                                                        \
  template <class T>                                                       \
  __MSL_INLINE T __metal_##op(T a, T b, T c, bool fast) {                  \
    return fast ? metal::fast::op(a, b, c) : metal::precise::op(a, b, c);  \
  }
__MSL_FAST_TERNARY(__MSL_M)
__MSL_PLAIN_TERNARY(__MSL_M)
__MSL_M(clamp)
#undef __MSL_M
template <class T>
__MSL_INLINE T __metal_fma(T a, T b, T c) {
  return metal::fma(a, b, c);
}
template <class T>
__MSL_INLINE T __metal_copysign(T a, T b) {
  return metal::copysign(a, b);
}
template <class T>
__MSL_INLINE T __metal_nextafter(T a, T b) {
  return metal::nextafter(a, b);
}
template <class T, class U>
__MSL_INLINE T __metal_ldexp(T a, U k, bool = false) {
  return metal::ldexp(a, k);
}
template <class T, class U>
__MSL_INLINE T __metal_frexp(T a, thread U* exponent, bool = false) {
  return metal::frexp(a, *exponent);
}
template <class T>
__MSL_INLINE T __metal_modf(T a, thread T* whole, bool = false) {
  return metal::modf(a, *whole);
}
template <class T>
__MSL_INLINE T __metal_sincos(T a, thread T* cosine, bool fast) {
  return fast ? metal::fast::sincos(a, *cosine) : metal::precise::sincos(a, *cosine);
}

#undef __MSL_FAST_UNARY
#undef __MSL_FAST_BINARY
#undef __MSL_FAST_TERNARY
#undef __MSL_PLAIN_BINARY
#undef __MSL_PLAIN_TERNARY
#undef __MSL_SCALAR1
#undef __MSL_SCALAR2
#undef __MSL_SCALAR3
#undef __MSL_RAW1
#undef __MSL_RAW2
#undef __MSL_RAW3
#undef __MSL_EACH_RAW
#undef __MSL_VECTOR1
#undef __MSL_VECTOR2
#undef __MSL_VECTOR3
