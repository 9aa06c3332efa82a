// Swizzles of two to four letters as properties, for vectors of 2, 3 and 4 components.
//
// __MSL_EACH_i<N>(M, …) calls M(…, xyzw-letter, rgba-letter) for each component; the copies a to d exist because a macro cannot
// expand inside itself. Every combination gets a getter and a property in both alphabets. A property names a setter in any case,
// but setters exist only for combinations without a repeated letter, so writing to `v.xx` is an error.
#pragma once
#pragma clang system_header

#define __MSL_EACH_a2(M, ...) M(__VA_ARGS__, x, r) M(__VA_ARGS__, y, g)
#define __MSL_EACH_a3(M, ...) __MSL_EACH_a2(M, __VA_ARGS__) M(__VA_ARGS__, z, b)
#define __MSL_EACH_a4(M, ...) __MSL_EACH_a3(M, __VA_ARGS__) M(__VA_ARGS__, w, a)
#define __MSL_EACH_b2(M, ...) M(__VA_ARGS__, x, r) M(__VA_ARGS__, y, g)
#define __MSL_EACH_b3(M, ...) __MSL_EACH_b2(M, __VA_ARGS__) M(__VA_ARGS__, z, b)
#define __MSL_EACH_b4(M, ...) __MSL_EACH_b3(M, __VA_ARGS__) M(__VA_ARGS__, w, a)
#define __MSL_EACH_c2(M, ...) M(__VA_ARGS__, x, r) M(__VA_ARGS__, y, g)
#define __MSL_EACH_c3(M, ...) __MSL_EACH_c2(M, __VA_ARGS__) M(__VA_ARGS__, z, b)
#define __MSL_EACH_c4(M, ...) __MSL_EACH_c3(M, __VA_ARGS__) M(__VA_ARGS__, w, a)
#define __MSL_EACH_d2(M, ...) M(__VA_ARGS__, x, r) M(__VA_ARGS__, y, g)
#define __MSL_EACH_d3(M, ...) __MSL_EACH_d2(M, __VA_ARGS__) M(__VA_ARGS__, z, b)
#define __MSL_EACH_d4(M, ...) __MSL_EACH_d3(M, __VA_ARGS__) M(__VA_ARGS__, w, a)

// One combination: letters in both alphabets, and the list of components for the constant-evaluation path.
#define __MSL_SWIZZLE(L, name, alias, ...)                                     \
  __MSL_INLINE constexpr vec<T, L> __get_##name() const {                      \
    const __vec* v = (const __vec*)this;                                       \
    if (__builtin_is_constant_evaluated()) return vec<T, L>(__VA_ARGS__);      \
    return vec<T, L>(v->__v.name, raw_tag());                                  \
  }                                                                            \
  __declspec(property(get = __get_##name, put = __put_##name)) vec<T, L> name; \
  __declspec(property(get = __get_##name, put = __put_##name)) vec<T, L> alias;

#define __MSL_SWIZZLE2(_, p, p_, q, q_) __MSL_SWIZZLE(2, p##q, p_##q_, v->p, v->q)
#define __MSL_SWIZZLE3(_, p, p_, q, q_, s, s_) __MSL_SWIZZLE(3, p##q##s, p_##q_##s_, v->p, v->q, v->s)
#define __MSL_SWIZZLE4(_, p, p_, q, q_, s, s_, t, t_) \
  __MSL_SWIZZLE(4, p##q##s##t, p_##q_##s_##t_, v->p, v->q, v->s, v->t)

#define __MSL_PUT(L, name) \
  __MSL_INLINE void __put_##name(vec<T, L> value) { ((__vec*)this)->__v.name = value.__v; }

#define __MSL_GET_ALL(N)                                                                     \
  __MSL_EACH_a##N(__MSL_GET2_##N, ) __MSL_EACH_a##N(__MSL_GET3_##N, ) __MSL_EACH_a##N(__MSL_GET4_##N, )
#define __MSL_GET2_2(...) __MSL_EACH_b2(__MSL_SWIZZLE2, __VA_ARGS__)
#define __MSL_GET2_3(...) __MSL_EACH_b3(__MSL_SWIZZLE2, __VA_ARGS__)
#define __MSL_GET2_4(...) __MSL_EACH_b4(__MSL_SWIZZLE2, __VA_ARGS__)
#define __MSL_GET3_2(...) __MSL_EACH_b2(__MSL_GET3B_2, __VA_ARGS__)
#define __MSL_GET3_3(...) __MSL_EACH_b3(__MSL_GET3B_3, __VA_ARGS__)
#define __MSL_GET3_4(...) __MSL_EACH_b4(__MSL_GET3B_4, __VA_ARGS__)
#define __MSL_GET3B_2(...) __MSL_EACH_c2(__MSL_SWIZZLE3, __VA_ARGS__)
#define __MSL_GET3B_3(...) __MSL_EACH_c3(__MSL_SWIZZLE3, __VA_ARGS__)
#define __MSL_GET3B_4(...) __MSL_EACH_c4(__MSL_SWIZZLE3, __VA_ARGS__)
#define __MSL_GET4_2(...) __MSL_EACH_b2(__MSL_GET4B_2, __VA_ARGS__)
#define __MSL_GET4_3(...) __MSL_EACH_b3(__MSL_GET4B_3, __VA_ARGS__)
#define __MSL_GET4_4(...) __MSL_EACH_b4(__MSL_GET4B_4, __VA_ARGS__)
#define __MSL_GET4B_2(...) __MSL_EACH_c2(__MSL_GET4C_2, __VA_ARGS__)
#define __MSL_GET4B_3(...) __MSL_EACH_c3(__MSL_GET4C_3, __VA_ARGS__)
#define __MSL_GET4B_4(...) __MSL_EACH_c4(__MSL_GET4C_4, __VA_ARGS__)
#define __MSL_GET4C_2(...) __MSL_EACH_d2(__MSL_SWIZZLE4, __VA_ARGS__)
#define __MSL_GET4C_3(...) __MSL_EACH_d3(__MSL_SWIZZLE4, __VA_ARGS__)
#define __MSL_GET4C_4(...) __MSL_EACH_d4(__MSL_SWIZZLE4, __VA_ARGS__)

#define __MSL_PUTS2 __MSL_PUT(2, xy) __MSL_PUT(2, yx)
#define __MSL_PUTS3                                                                                \
  __MSL_PUTS2 __MSL_PUT(2, xz) __MSL_PUT(2, yz) __MSL_PUT(2, zx) __MSL_PUT(2, zy)                  \
  __MSL_PUT(3, xyz) __MSL_PUT(3, xzy) __MSL_PUT(3, yxz) __MSL_PUT(3, yzx) __MSL_PUT(3, zxy) __MSL_PUT(3, zyx)
#define __MSL_PUTS4                                                                                \
  __MSL_PUTS3                                                                                      \
  __MSL_PUT(2, xw) __MSL_PUT(2, yw) __MSL_PUT(2, zw) __MSL_PUT(2, wx) __MSL_PUT(2, wy) __MSL_PUT(2, wz) \
  __MSL_PUT(3, xyw) __MSL_PUT(3, xwy) __MSL_PUT(3, yxw) __MSL_PUT(3, ywx) __MSL_PUT(3, wxy) __MSL_PUT(3, wyx) \
  __MSL_PUT(3, xzw) __MSL_PUT(3, xwz) __MSL_PUT(3, zxw) __MSL_PUT(3, zwx) __MSL_PUT(3, wxz) __MSL_PUT(3, wzx) \
  __MSL_PUT(3, yzw) __MSL_PUT(3, ywz) __MSL_PUT(3, zyw) __MSL_PUT(3, zwy) __MSL_PUT(3, wyz) __MSL_PUT(3, wzy) \
  __MSL_PUT(4, xyzw) __MSL_PUT(4, xywz) __MSL_PUT(4, xzyw) __MSL_PUT(4, xzwy) __MSL_PUT(4, xwyz) __MSL_PUT(4, xwzy) \
  __MSL_PUT(4, yxzw) __MSL_PUT(4, yxwz) __MSL_PUT(4, yzxw) __MSL_PUT(4, yzwx) __MSL_PUT(4, ywxz) __MSL_PUT(4, ywzx) \
  __MSL_PUT(4, zxyw) __MSL_PUT(4, zxwy) __MSL_PUT(4, zyxw) __MSL_PUT(4, zywx) __MSL_PUT(4, zwxy) __MSL_PUT(4, zwyx) \
  __MSL_PUT(4, wxyz) __MSL_PUT(4, wxzy) __MSL_PUT(4, wyxz) __MSL_PUT(4, wyzx) __MSL_PUT(4, wzxy) __MSL_PUT(4, wzyx)

#define __MSL_SWIZZLES2 __MSL_PUTS2 __MSL_GET_ALL(2)
#define __MSL_SWIZZLES3 __MSL_PUTS3 __MSL_GET_ALL(3)
#define __MSL_SWIZZLES4 __MSL_PUTS4 __MSL_GET_ALL(4)
