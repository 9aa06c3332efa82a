// Members that packed_vec<T, 2>, packed_vec<T, 3> and packed_vec<T, 4> share. Included inside the class, as vec_members.h is.
typedef vec<T, __MSL_N> __vec;
typedef vec<bool, __MSL_N> __bool;

packed_vec() = default;
// As for the unpacked vector.
#define __MSL_F(c) list.__at(__d::component_##c)
__MSL_INLINE constexpr packed_vec(std::initializer_list<T> list) : __a{__MSL_LIST(__MSL_F)} {}
#undef __MSL_F
#define __MSL_F(c) T(v.c)
__MSL_INLINE constexpr packed_vec(__vec v) : __a{__MSL_LIST(__MSL_F)} {}
#undef __MSL_F
template <class U, class = enable_if_t<!__is_same(U, T)>>
__MSL_INLINE explicit constexpr packed_vec(vec<U, __MSL_N> v) : packed_vec(__vec(v)) {}
template <class U, class = enable_if_t<!__is_same(U, T)>, class = void>
__MSL_INLINE explicit constexpr packed_vec(packed_vec<U, __MSL_N> v) : packed_vec(__vec(v)) {}

#define __MSL_F(c) __get_##c()
__MSL_INLINE constexpr operator __vec() const { return __vec(__MSL_LIST(__MSL_F)); }
#undef __MSL_F
__MSL_INLINE constexpr T& operator[](size_t i) { return __a[i]; }
__MSL_INLINE constexpr T operator[](size_t i) const { return __a[i]; }

#define __MSL_ARITHMETIC(op)                                                                              \
  friend __MSL_INLINE constexpr __vec operator op(packed_vec p, packed_vec q) { return __vec(p) op __vec(q); } \
  friend __MSL_INLINE constexpr __vec operator op(packed_vec p, __vec q) { return __vec(p) op q; }        \
  friend __MSL_INLINE constexpr __vec operator op(__vec p, packed_vec q) { return p op __vec(q); }        \
  friend __MSL_INLINE constexpr __vec operator op(packed_vec p, T q) { return __vec(p) op __vec(q); }     \
  friend __MSL_INLINE constexpr __vec operator op(T p, packed_vec q) { return __vec(p) op __vec(q); }     \
  __MSL_INLINE packed_vec& operator op##=(__vec q) { return *this = packed_vec(__vec(*this) op q); }
__MSL_ARITHMETIC(+)
__MSL_ARITHMETIC(-)
__MSL_ARITHMETIC(*)
__MSL_ARITHMETIC(/)
__MSL_ARITHMETIC(%)
__MSL_ARITHMETIC(&)
__MSL_ARITHMETIC(|)
__MSL_ARITHMETIC(^)
__MSL_ARITHMETIC(<<)
__MSL_ARITHMETIC(>>)
#undef __MSL_ARITHMETIC

#define __MSL_COMPARISON(op)                                                                                    \
  friend __MSL_INLINE constexpr __bool operator op(packed_vec p, packed_vec q) { return __vec(p) op __vec(q); } \
  friend __MSL_INLINE constexpr __bool operator op(packed_vec p, __vec q) { return __vec(p) op q; }             \
  friend __MSL_INLINE constexpr __bool operator op(__vec p, packed_vec q) { return p op __vec(q); }             \
  friend __MSL_INLINE constexpr __bool operator op(packed_vec p, T q) { return __vec(p) op __vec(q); }          \
  friend __MSL_INLINE constexpr __bool operator op(T p, packed_vec q) { return __vec(p) op __vec(q); }
__MSL_COMPARISON(==)
__MSL_COMPARISON(!=)
__MSL_COMPARISON(<)
__MSL_COMPARISON(>)
__MSL_COMPARISON(<=)
__MSL_COMPARISON(>=)
#undef __MSL_COMPARISON

friend __MSL_INLINE constexpr __vec operator-(packed_vec p) { return -__vec(p); }
friend __MSL_INLINE constexpr __vec operator+(packed_vec p) { return __vec(p); }
friend __MSL_INLINE constexpr __vec operator~(packed_vec p) { return ~__vec(p); }
friend __MSL_INLINE constexpr __bool operator!(packed_vec p) { return !__vec(p); }
