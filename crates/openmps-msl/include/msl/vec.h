// vec<T, N>: Metal's vectors as a class around clang's ext_vector_type.
//
// The raw vector has Metal's size and alignment and is what AIR functions take. It shares storage with named components, so a
// component is an lvalue that references bind to. Longer swizzles are properties whose getter and setter work on the raw vector.
// In constant evaluation the named components are the union's active member, so every constexpr function has a path that
// touches only them. A bool vector stores bytes, because clang's bool vectors are packed bits and Metal's are not.
#pragma once
#pragma clang system_header
#include "convert.h"

// What clang makes of a braced list, if a constructor asks for it.
namespace std {
template <class T>
class initializer_list {
  const T* __first;
  size_t __count;

 public:
  __MSL_INLINE constexpr T __at(size_t i) const { return i < __count ? __first[i] : T(0); }
};
} // namespace std

namespace metal {
namespace __d {
enum component { component_x, component_y, component_z, component_w };

template <class T>
struct storage {
  typedef T type;
};
template <>
struct storage<bool> {
  typedef uchar type;
};
template <class T, int N>
using raw = typename storage<T>::type __attribute__((ext_vector_type(N)));

// Selects the constructor from a raw vector.
struct raw_tag {};

// Comparisons of raw vectors give 0 or -1; Metal's bool is 0 or 1.
template <int N, class M>
__MSL_INLINE raw<uchar, N> truth(M mask) {
  return __builtin_convertvector(mask, raw<uchar, N>) & (raw<uchar, N>)(uchar)1;
}

// Whether A is a vector of exactly N components of type T, packed or not. Constructors deduce their vector arguments and check
// them with this: a parameter of type vec<T, 2> would also accept a scalar through the implicit splat.
template <class A, class T, int N>
constexpr bool is_vec_of = __is_same(A, vec<T, N>) || __is_same(A, packed_vec<T, N>);
} // namespace __d
} // namespace metal

#include "swizzle.h"

// Component lists: F(component) for each, joined by commas.
#define __MSL_LIST2(F) F(x), F(y)
#define __MSL_LIST3(F) F(x), F(y), F(z)
#define __MSL_LIST4(F) F(x), F(y), F(z), F(w)

namespace metal {

// Storage and swizzles are base classes of their own for compile time: clang walks over all members of a class when it
// instantiates one of its constructors or looks for an unnamed member (the union, the structs), and the swizzles are a thousand.
namespace __d {
template <class T, int N>
struct components;
template <class T>
struct components<T, 2> {
  union {
    raw<T, 2> __v;
    struct {
      T x, y;
    };
    struct {
      T r, g;
    };
  };
  components() = default;
  __MSL_INLINE constexpr components(T p, T q) : x(p), y(q) {}
  __MSL_INLINE constexpr components(raw<T, 2> v, raw_tag) : __v(v) {}
};
template <class T>
struct components<T, 3> {
  union {
    raw<T, 3> __v;
    struct {
      T x, y, z;
    };
    struct {
      T r, g, b;
    };
  };
  components() = default;
  __MSL_INLINE constexpr components(T p, T q, T s) : x(p), y(q), z(s) {}
  __MSL_INLINE constexpr components(raw<T, 3> v, raw_tag) : __v(v) {}
};
template <class T>
struct components<T, 4> {
  union {
    raw<T, 4> __v;
    struct {
      T x, y, z, w;
    };
    struct {
      T r, g, b, a;
    };
  };
  components() = default;
  __MSL_INLINE constexpr components(T p, T q, T s, T t) : x(p), y(q), z(s), w(t) {}
  __MSL_INLINE constexpr components(raw<T, 4> v, raw_tag) : __v(v) {}
};

// Empty classes that hold the properties; `this` is part of a vec<T, N>.
template <class T, int N>
struct swizzles;
template <class T>
struct swizzles<T, 2> {
  typedef vec<T, 2> __vec;
  __MSL_SWIZZLES2
};
template <class T>
struct swizzles<T, 3> {
  typedef vec<T, 3> __vec;
  __MSL_SWIZZLES3
};
template <class T>
struct swizzles<T, 4> {
  typedef vec<T, 4> __vec;
  __MSL_SWIZZLES4
};
} // namespace __d

template <class T>
struct vec<T, 2> : __d::components<T, 2>, __d::swizzles<T, 2> {
#define __MSL_N 2
#define __MSL_LIST __MSL_LIST2
#include "vec_members.h"
  __MSL_INLINE constexpr vec(T p, T q) : __components(p, q) {}
#undef __MSL_N
#undef __MSL_LIST
};

template <class T>
struct vec<T, 3> : __d::components<T, 3>, __d::swizzles<T, 3> {
#define __MSL_N 3
#define __MSL_LIST __MSL_LIST3
#include "vec_members.h"
  __MSL_INLINE constexpr vec(T p, T q, T s) : __components(p, q, s) {}
  // Metal fills missing components of a braced list with zero.
  __MSL_INLINE constexpr vec(T p, T q) : __components(p, q, T(0)) {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 2>>>
  __MSL_INLINE constexpr vec(A p, T q) : __components(p.x, p.y, q) {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 2>>>
  __MSL_INLINE constexpr vec(T p, A q) : __components(p, q.x, q.y) {}
#undef __MSL_N
#undef __MSL_LIST
};

template <class T>
struct vec<T, 4> : __d::components<T, 4>, __d::swizzles<T, 4> {
#define __MSL_N 4
#define __MSL_LIST __MSL_LIST4
#include "vec_members.h"
  __MSL_INLINE constexpr vec(T p, T q, T s, T t) : __components(p, q, s, t) {}
  // Metal fills missing components of a braced list with zero.
  __MSL_INLINE constexpr vec(T p, T q, T s) : __components(p, q, s, T(0)) {}
  __MSL_INLINE constexpr vec(T p, T q) : __components(p, q, T(0), T(0)) {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 2>>>
  __MSL_INLINE constexpr vec(A p, T q, T s) : __components(p.x, p.y, q, s) {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 2>>>
  __MSL_INLINE constexpr vec(T p, A q, T s) : __components(p, q.x, q.y, s) {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 2>>>
  __MSL_INLINE constexpr vec(T p, T q, A s) : __components(p, q, s.x, s.y) {}
  template <class A, class B, class = enable_if_t<__d::is_vec_of<A, T, 2> && __d::is_vec_of<B, T, 2>>>
  __MSL_INLINE constexpr vec(A p, B q) : __components(p.x, p.y, q.x, q.y) {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 3>>>
  __MSL_INLINE constexpr vec(A p, T q) : __components(p.x, p.y, p.z, q) {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 3>>>
  __MSL_INLINE constexpr vec(T p, A q) : __components(p, q.x, q.y, q.z) {}
#undef __MSL_N
#undef __MSL_LIST
};

// Other lengths occur in public kernels only as carriers of a raw vector (vec<T, 64> for a SIMD-group matrix).
template <class T, int N>
struct vec {
  __d::raw<T, N> __v;
  vec() = default;
  __MSL_INLINE constexpr vec(T a) : __v((__d::raw<T, N>)(typename __d::storage<T>::type)a) {}
  __MSL_INLINE constexpr vec(__d::raw<T, N> v, __d::raw_tag) : __v(v) {}
  __MSL_INLINE T& operator[](size_t i) { return reinterpret_cast<T*>(this)[i]; }
  __MSL_INLINE T operator[](size_t i) const { return (T)__v[i]; }
};

} // namespace metal
