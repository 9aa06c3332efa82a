// One of the namespaces `precise` and `fast`: included twice by math.h with __MSL_MATH_NAMESPACE and __MSL_MATH_PREFIX set.
// Also holds the common and geometric functions (`metal_common`, `metal_geometric`), because they are defined in terms of these.
namespace __MSL_MATH_NAMESPACE {

#define __MSL_M(op) __MSL_SCALAR1(__MSL_MATH_PREFIX, op) __MSL_VECTOR1(__MSL_MATH_NAMESPACE, op)
__MSL_FAST_UNARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op) __MSL_SCALAR2(__MSL_MATH_PREFIX, op) __MSL_VECTOR2(__MSL_MATH_NAMESPACE, op)
__MSL_FAST_BINARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op) __MSL_SCALAR3(__MSL_MATH_PREFIX, op) __MSL_VECTOR3(__MSL_MATH_NAMESPACE, op)
__MSL_FAST_TERNARY(__MSL_M)
__MSL_M(clamp)
#undef __MSL_M
#define __MSL_M(op) __MSL_SCALAR2("", op) __MSL_VECTOR2(__MSL_MATH_NAMESPACE, op)
__MSL_PLAIN_BINARY(__MSL_M)
#undef __MSL_M
#define __MSL_M(op) __MSL_SCALAR3("", op) __MSL_VECTOR3(__MSL_MATH_NAMESPACE, op)
__MSL_PLAIN_TERNARY(__MSL_M)
#undef __MSL_M

// The names without `f`, shared with the integer functions.
#define __MSL_ALIAS1(name, op)                                                             \
  float name(float) __MSL_PURE("air." __MSL_MATH_PREFIX #op ".f32");                       \
  half name(half) __MSL_PURE("air." #op ".f16");                                           \
  template <class T, int N>                                                                \
  __MSL_INLINE __d::if_math<T, vec<T, N>> name(vec<T, N> a) {                              \
    return op(a);                                                                          \
  }
#define __MSL_ALIAS2(name, op)                                                             \
  float name(float, float) __MSL_PURE("air." __MSL_MATH_PREFIX #op ".f32");                \
  half name(half, half) __MSL_PURE("air." #op ".f16");                                     \
  template <class T, int N>                                                                \
  __MSL_INLINE __d::if_math<T, vec<T, N>> name(vec<T, N> a, vec<T, N> b) {                 \
    return op(a, b);                                                                       \
  }                                                                                        \
  template <class T, int N>                                                                \
  __MSL_INLINE __d::if_math<T, vec<T, N>> name(vec<T, N> a, __d::id_t<T> b) {              \
    return op(a, vec<T, N>(b));                                                            \
  }                                                                                        \
  template <class T, int N>                                                                \
  __MSL_INLINE __d::if_math<T, vec<T, N>> name(__d::id_t<T> a, vec<T, N> b) {              \
    return op(vec<T, N>(a), b);                                                            \
  }
#define __MSL_ALIAS3(name, op)                                                             \
  float name(float, float, float) __MSL_PURE("air." __MSL_MATH_PREFIX #op ".f32");         \
  half name(half, half, half) __MSL_PURE("air." #op ".f16");                               \
  template <class T, int N>                                                                \
  __MSL_INLINE __d::if_math<T, vec<T, N>> name(vec<T, N> a, vec<T, N> b, vec<T, N> c) {    \
    return op(a, b, c);                                                                    \
  }
__MSL_ALIAS1(abs, fabs)
__MSL_ALIAS2(max, fmax)
__MSL_ALIAS2(min, fmin)
__MSL_ALIAS3(max3, fmax3)
__MSL_ALIAS3(median3, fmedian3)
__MSL_ALIAS3(min3, fmin3)
#undef __MSL_ALIAS1
#undef __MSL_ALIAS2
#undef __MSL_ALIAS3

template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> clamp(vec<T, N> x, __d::id_t<T> low, __d::id_t<T> high) {
  return clamp(x, vec<T, N>(low), vec<T, N>(high));
}

// sincos returns the sine and stores the cosine.
float __sincos(float, thread float*) __MSL_EFFECT("air." __MSL_MATH_PREFIX "sincos.f32");
half __sincos(half, thread half*) __MSL_EFFECT("air.sincos.f16");
__MSL_LAZY float sincos(float x, thread float& cosine) { return __sincos(x, &cosine); }
__MSL_LAZY half sincos(half x, thread half& cosine) { return __sincos(x, &cosine); }
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> sincos(vec<T, N> x, thread vec<T, N>& cosine) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = __sincos(x[i], &cosine[i]);
  return r;
}

__MSL_LAZY float divide(float a, float b) { return a / b; }
__MSL_LAZY half divide(half a, half b) { return a / b; }
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> divide(vec<T, N> a, vec<T, N> b) {
  return a / b;
}

// Common functions.
#define __MSL_COMMON(T)                                                                                        \
  __MSL_LAZY T mix(T a, T b, T t) { return a + (b - a) * t; }                                                  \
  __MSL_LAZY T step(T edge, T x) { return x < edge ? T(0) : T(1); }                                            \
  __MSL_LAZY T smoothstep(T low, T high, T x) {                                                                \
    T t = saturate((x - low) / (high - low));                                                                  \
    return t * t * (T(3) - T(2) * t);                                                                          \
  }                                                                                                            \
  __MSL_LAZY T sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? x : T(0); }
__MSL_COMMON(float)
__MSL_COMMON(half)
#undef __MSL_COMMON
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> mix(vec<T, N> a, vec<T, N> b, vec<T, N> t) {
  return a + (b - a) * t;
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> mix(vec<T, N> a, vec<T, N> b, __d::id_t<T> t) {
  return a + (b - a) * t;
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> step(vec<T, N> edge, vec<T, N> x) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = step(edge[i], x[i]);
  return r;
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> step(__d::id_t<T> edge, vec<T, N> x) {
  return step(vec<T, N>(edge), x);
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> smoothstep(vec<T, N> low, vec<T, N> high, vec<T, N> x) {
  vec<T, N> t = saturate((x - low) / (high - low));
  return t * t * (vec<T, N>(T(3)) - T(2) * t);
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> smoothstep(__d::id_t<T> low, __d::id_t<T> high, vec<T, N> x) {
  return smoothstep(vec<T, N>(low), vec<T, N>(high), x);
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> sign(vec<T, N> x) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = sign(x[i]);
  return r;
}

// Geometric functions.
template <class T, int N>
__MSL_INLINE __d::if_math<T, T> dot(vec<T, N> a, vec<T, N> b) {
  return __air::dot(a.__v, b.__v);
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, T> length_squared(vec<T, N> a) {
  return __air::dot(a.__v, a.__v);
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, T> length(vec<T, N> a) {
  return sqrt(__air::dot(a.__v, a.__v));
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, T> distance(vec<T, N> a, vec<T, N> b) {
  return length(a - b);
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, T> distance_squared(vec<T, N> a, vec<T, N> b) {
  return length_squared(a - b);
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> normalize(vec<T, N> a) {
  return a * rsqrt(__air::dot(a.__v, a.__v));
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> faceforward(vec<T, N> n, vec<T, N> incident, vec<T, N> reference) {
  return dot(reference, incident) < T(0) ? n : -n;
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> reflect(vec<T, N> incident, vec<T, N> n) {
  return incident - n * (T(2) * dot(n, incident));
}
template <class T, int N>
__MSL_INLINE __d::if_math<T, vec<T, N>> refract(vec<T, N> incident, vec<T, N> n, __d::id_t<T> eta) {
  T d = dot(n, incident);
  T k = T(1) - eta * eta * (T(1) - d * d);
  return k < T(0) ? vec<T, N>(T(0)) : eta * incident - (eta * d + sqrt(k)) * n;
}
#define __MSL_CROSS(T)                                                                              \
  __MSL_LAZY vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {                                            \
    return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);          \
  }
__MSL_CROSS(float)
__MSL_CROSS(half)
#undef __MSL_CROSS

} // namespace __MSL_MATH_NAMESPACE
