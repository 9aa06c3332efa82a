// packed_vec<T, N>: vectors with the alignment of their component. Arithmetic happens on vec<T, N>, to which they convert.
#pragma once
#pragma clang system_header
#include "vec.h"

#define __MSL_PACKED_COMPONENT(i, c, alias)                       \
  __MSL_INLINE constexpr T __get_##c() const { return __a[i]; }   \
  __MSL_INLINE void __put_##c(T value) { __a[i] = value; }        \
  __declspec(property(get = __get_##c, put = __put_##c)) T c;     \
  __declspec(property(get = __get_##c, put = __put_##c)) T alias;

// Longer swizzles go through the unpacked vector.
#define __MSL_PACKED_SWIZZLE(L, name, alias, ...)                                             \
  __MSL_INLINE constexpr vec<T, L> __get_##name() const { return vec<T, L>(__VA_ARGS__); }    \
  __MSL_INLINE void __put_##name(vec<T, L> value) {                                           \
    __vec v = *this;                                                                          \
    v.name = value;                                                                           \
    *this = packed_vec(v);                                                                    \
  }                                                                                           \
  __declspec(property(get = __get_##name, put = __put_##name)) vec<T, L> name;                \
  __declspec(property(get = __get_##name, put = __put_##name)) vec<T, L> alias;

namespace metal {

template <class T>
struct packed_vec<T, 2> {
#define __MSL_N 2
#define __MSL_LIST __MSL_LIST2
  T __a[2];
  __MSL_INLINE constexpr packed_vec(T s) : __a{s, s} {}
  __MSL_INLINE constexpr packed_vec(T p, T q) : __a{p, q} {}
#include "packed_vec_members.h"
  __MSL_PACKED_COMPONENT(0, x, r)
  __MSL_PACKED_COMPONENT(1, y, g)
  __MSL_PACKED_SWIZZLE(2, xy, rg, x, y)
  __MSL_PACKED_SWIZZLE(2, yx, gr, y, x)
#undef __MSL_N
#undef __MSL_LIST
};

template <class T>
struct packed_vec<T, 3> {
#define __MSL_N 3
#define __MSL_LIST __MSL_LIST3
  T __a[3];
  __MSL_INLINE constexpr packed_vec(T s) : __a{s, s, s} {}
  __MSL_INLINE constexpr packed_vec(T p, T q, T s) : __a{p, q, s} {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 2>>>
  __MSL_INLINE constexpr packed_vec(A p, T q) : __a{p.x, p.y, q} {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 2>>>
  __MSL_INLINE constexpr packed_vec(T p, A q) : __a{p, q.x, q.y} {}
#include "packed_vec_members.h"
  __MSL_PACKED_COMPONENT(0, x, r)
  __MSL_PACKED_COMPONENT(1, y, g)
  __MSL_PACKED_COMPONENT(2, z, b)
  __MSL_PACKED_SWIZZLE(2, xy, rg, x, y)
  __MSL_PACKED_SWIZZLE(2, yx, gr, y, x)
  __MSL_PACKED_SWIZZLE(2, xz, rb, x, z)
  __MSL_PACKED_SWIZZLE(2, zx, br, z, x)
  __MSL_PACKED_SWIZZLE(2, yz, gb, y, z)
  __MSL_PACKED_SWIZZLE(2, zy, bg, z, y)
  __MSL_PACKED_SWIZZLE(3, xyz, rgb, x, y, z)
  __MSL_PACKED_SWIZZLE(3, xzy, rbg, x, z, y)
  __MSL_PACKED_SWIZZLE(3, yxz, grb, y, x, z)
  __MSL_PACKED_SWIZZLE(3, yzx, gbr, y, z, x)
  __MSL_PACKED_SWIZZLE(3, zxy, brg, z, x, y)
  __MSL_PACKED_SWIZZLE(3, zyx, bgr, z, y, x)
#undef __MSL_N
#undef __MSL_LIST
};

template <class T>
struct packed_vec<T, 4> {
#define __MSL_N 4
#define __MSL_LIST __MSL_LIST4
  T __a[4];
  __MSL_INLINE constexpr packed_vec(T s) : __a{s, s, s, s} {}
  __MSL_INLINE constexpr packed_vec(T p, T q, T s, T t) : __a{p, q, s, t} {}
  template <class A, class = enable_if_t<__d::is_vec_of<A, T, 3>>>
  __MSL_INLINE constexpr packed_vec(A p, T q) : __a{p.x, p.y, p.z, q} {}
  template <class A, class B, class = enable_if_t<__d::is_vec_of<A, T, 2> && __d::is_vec_of<B, T, 2>>>
  __MSL_INLINE constexpr packed_vec(A p, B q) : __a{p.x, p.y, q.x, q.y} {}
#include "packed_vec_members.h"
  __MSL_PACKED_COMPONENT(0, x, r)
  __MSL_PACKED_COMPONENT(1, y, g)
  __MSL_PACKED_COMPONENT(2, z, b)
  __MSL_PACKED_COMPONENT(3, w, a)
  __MSL_PACKED_SWIZZLE(2, xy, rg, x, y)
  __MSL_PACKED_SWIZZLE(2, yx, gr, y, x)
  __MSL_PACKED_SWIZZLE(2, xz, rb, x, z)
  __MSL_PACKED_SWIZZLE(2, zx, br, z, x)
  __MSL_PACKED_SWIZZLE(2, xw, ra, x, w)
  __MSL_PACKED_SWIZZLE(2, wx, ar, w, x)
  __MSL_PACKED_SWIZZLE(2, yz, gb, y, z)
  __MSL_PACKED_SWIZZLE(2, zy, bg, z, y)
  __MSL_PACKED_SWIZZLE(2, yw, ga, y, w)
  __MSL_PACKED_SWIZZLE(2, wy, ag, w, y)
  __MSL_PACKED_SWIZZLE(2, zw, ba, z, w)
  __MSL_PACKED_SWIZZLE(2, wz, ab, w, z)
  __MSL_PACKED_SWIZZLE(3, xyz, rgb, x, y, z)
  __MSL_PACKED_SWIZZLE(3, zyx, bgr, z, y, x)
  __MSL_PACKED_SWIZZLE(3, yzw, gba, y, z, w)
  __MSL_PACKED_SWIZZLE(4, xyzw, rgba, x, y, z, w)
  __MSL_PACKED_SWIZZLE(4, zyxw, bgra, z, y, x, w)
  __MSL_PACKED_SWIZZLE(4, wzyx, abgr, w, z, y, x)
#undef __MSL_N
#undef __MSL_LIST
};

} // namespace metal

#undef __MSL_PACKED_COMPONENT
#undef __MSL_PACKED_SWIZZLE
