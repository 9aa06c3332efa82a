// Members that vec<T, 2>, vec<T, 3> and vec<T, 4> share. Included inside the class: __MSL_N is the length, __MSL_LIST(F) lists
// F(component).
typedef __d::components<T, __MSL_N> __components;
typedef __d::raw<T, __MSL_N> __raw;
typedef typename __d::storage<T>::type __scalar;
typedef vec<bool, __MSL_N> __bool;
typedef T __element;

vec() = default;
#define __MSL_F(c) s
__MSL_INLINE constexpr vec(T s) : __components(__MSL_LIST(__MSL_F)) {}
#undef __MSL_F
// A braced list of scalars fills components from the first on, and the rest with zero, where `vec(s)` repeats its operand.
#define __MSL_F(c) list.__at(__d::component_##c)
__MSL_INLINE constexpr vec(std::initializer_list<T> list) : __components(__MSL_LIST(__MSL_F)) {}
#undef __MSL_F
__MSL_INLINE constexpr vec(__raw v, __d::raw_tag tag) : __components(v, tag) {}
template <class U, class = enable_if_t<!__is_same(U, T)>>
__MSL_INLINE explicit constexpr vec(vec<U, __MSL_N> v) : vec(__from(v)) {}
template <class U, class = enable_if_t<!__is_same(U, T)>, class = void>
__MSL_INLINE explicit constexpr vec(packed_vec<U, __MSL_N> v) : vec(__from(vec<U, __MSL_N>(v))) {}

// Conversion of all components. Between floating types and from integers the raw vectors convert at once; from floating types to
// integers each component does, because only scalars saturate.
#define __MSL_F(c) __air::cast<T>(v.c)
template <class U>
static __MSL_INLINE constexpr vec __from(vec<U, __MSL_N> v) {
  if (__builtin_is_constant_evaluated()) return vec(__MSL_LIST(__MSL_F));
  if constexpr (__is_same(T, bool))
    return vec(__d::truth<__MSL_N>(v.__v != 0), __d::raw_tag());
  else if constexpr (__air::is_half_bfloat<T, U>)
    return vec(__builtin_convertvector(__builtin_convertvector(v.__v, __d::raw<float, __MSL_N>), __raw), __d::raw_tag());
  else if constexpr (__d::kind<U>::integer || __d::kind<T>::floating)
    return vec(__builtin_convertvector(v.__v, __raw), __d::raw_tag());
  else
    return vec(__MSL_LIST(__MSL_F));
}
#undef __MSL_F

__MSL_INLINE T& operator[](size_t i) { return (&this->x)[i]; }
__MSL_INLINE T operator[](size_t i) const { return (&this->x)[i]; }

// Products and sums may fuse, as those of scalars in one expression do: clang's rule cannot see through these functions.
#define __MSL_ARITHMETIC(op, F)                                                   \
  friend __MSL_INLINE constexpr vec operator op(vec p, vec q) {                   \
    _Pragma("clang fp contract(fast)")                                            \
    if (__builtin_is_constant_evaluated()) return vec(__MSL_LIST(F));             \
    return vec(__raw(p.__v op q.__v), __d::raw_tag());                            \
  }                                                                               \
  __MSL_INLINE vec& operator op##=(vec q) {                                       \
    _Pragma("clang fp contract(fast)")                                            \
    this->__v = this->__v op q.__v;                                                           \
    return *this;                                                                 \
  }
#define __MSL_F(c) T(p.c + q.c)
__MSL_ARITHMETIC(+, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c - q.c)
__MSL_ARITHMETIC(-, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c * q.c)
__MSL_ARITHMETIC(*, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c / q.c)
__MSL_ARITHMETIC(/, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c % q.c)
__MSL_ARITHMETIC(%, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c & q.c)
__MSL_ARITHMETIC(&, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c | q.c)
__MSL_ARITHMETIC(|, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c ^ q.c)
__MSL_ARITHMETIC(^, __MSL_F)
#undef __MSL_F
#undef __MSL_ARITHMETIC

// A shift takes its count modulo the width, as AIR's does.
#define __MSL_SHIFT(op, F)                                                                     \
  friend __MSL_INLINE constexpr vec operator op(vec p, vec q) {                                \
    if (__builtin_is_constant_evaluated()) return vec(__MSL_LIST(F));                          \
    return vec(__raw(p.__v op (q.__v & (__raw)(__scalar)(sizeof(T) * 8 - 1))), __d::raw_tag()); \
  }                                                                                            \
  __MSL_INLINE vec& operator op##=(vec q) { return *this = *this op q; }                       \
  /* The count may have another integer type. */                                               \
  template <class U, class = enable_if_t<!__is_same(U, T)>>                                    \
  friend __MSL_INLINE constexpr vec operator op(vec p, vec<U, __MSL_N> q) {                    \
    return p op vec(q);                                                                        \
  }                                                                                            \
  template <class U, class = enable_if_t<!__is_same(U, T)>>                                    \
  __MSL_INLINE vec& operator op##=(vec<U, __MSL_N> q) {                                        \
    return *this = *this op vec(q);                                                            \
  }
#define __MSL_F(c) T(p.c << (q.c & (sizeof(T) * 8 - 1)))
__MSL_SHIFT(<<, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) T(p.c >> (q.c & (sizeof(T) * 8 - 1)))
__MSL_SHIFT(>>, __MSL_F)
#undef __MSL_F
#undef __MSL_SHIFT

#define __MSL_COMPARISON(op, F)                                                       \
  friend __MSL_INLINE constexpr __bool operator op(vec p, vec q) {                    \
    if (__builtin_is_constant_evaluated()) return __bool(__MSL_LIST(F));              \
    return __bool(__d::truth<__MSL_N>(p.__v op q.__v), __d::raw_tag());               \
  }
#define __MSL_F(c) p.c == q.c
__MSL_COMPARISON(==, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) p.c != q.c
__MSL_COMPARISON(!=, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) p.c < q.c
__MSL_COMPARISON(<, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) p.c > q.c
__MSL_COMPARISON(>, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) p.c <= q.c
__MSL_COMPARISON(<=, __MSL_F)
#undef __MSL_F
#define __MSL_F(c) p.c >= q.c
__MSL_COMPARISON(>=, __MSL_F)
#undef __MSL_F
#undef __MSL_COMPARISON

#define __MSL_F(c) bool(p.c) && bool(q.c)
friend __MSL_INLINE constexpr __bool operator&&(vec p, vec q) { return __bool(__MSL_LIST(__MSL_F)); }
#undef __MSL_F
#define __MSL_F(c) bool(p.c) || bool(q.c)
friend __MSL_INLINE constexpr __bool operator||(vec p, vec q) { return __bool(__MSL_LIST(__MSL_F)); }
#undef __MSL_F
#define __MSL_F(c) !bool(p.c)
friend __MSL_INLINE constexpr __bool operator!(vec p) { return __bool(__MSL_LIST(__MSL_F)); }
#undef __MSL_F
#define __MSL_F(c) T(-p.c)
friend __MSL_INLINE constexpr vec operator-(vec p) {
  if (__builtin_is_constant_evaluated()) return vec(__MSL_LIST(__MSL_F));
  return vec(__raw(-p.__v), __d::raw_tag());
}
#undef __MSL_F
friend __MSL_INLINE constexpr vec operator+(vec p) { return p; }
#define __MSL_F(c) T(~p.c)
friend __MSL_INLINE constexpr vec operator~(vec p) {
  if (__builtin_is_constant_evaluated()) return vec(__MSL_LIST(__MSL_F));
  return vec(__raw(~p.__v), __d::raw_tag());
}
#undef __MSL_F

__MSL_INLINE vec& operator++() {
  this->__v += (__raw)(__scalar)1;
  return *this;
}
__MSL_INLINE vec& operator--() {
  this->__v -= (__raw)(__scalar)1;
  return *this;
}
__MSL_INLINE vec operator++(int) {
  vec before = *this;
  ++*this;
  return before;
}
__MSL_INLINE vec operator--(int) {
  vec before = *this;
  --*this;
  return before;
}
