// `metal_type_traits`: the C++ traits that Metal has, over scalars and vectors, on types with and without an address space.
//
// Left out on purpose, because public kernels define them beside `using namespace metal`: void_t, make_void, is_empty, move,
// forward, swap.
#pragma once
#pragma clang system_header
#include "scalars.h"

namespace metal {

template <class T, T V>
struct integral_constant {
  static constexpr constant T value = V;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return V; }
  constexpr T operator()() const { return V; }
};
template <bool B>
using bool_constant = integral_constant<bool, B>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;

template <bool B, class T, class F>
struct conditional {
  typedef T type;
};
template <class T, class F>
struct conditional<false, T, F> {
  typedef F type;
};
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;

template <class T>
struct type_identity {
  typedef T type;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;

// Qualifiers, references, address spaces.
template <class T>
struct remove_const {
  typedef T type;
};
template <class T>
struct remove_const<const T> {
  typedef T type;
};
template <class T>
struct remove_volatile {
  typedef T type;
};
template <class T>
struct remove_volatile<volatile T> {
  typedef T type;
};
template <class T>
struct remove_reference {
  typedef T type;
};
template <class T>
struct remove_reference<T&> {
  typedef T type;
};
template <class T>
struct remove_reference<T&&> {
  typedef T type;
};
template <class T>
struct remove_addrspace {
  typedef T type;
};
template <class T>
struct remove_addrspace<device T> {
  typedef T type;
};
template <class T>
struct remove_addrspace<threadgroup T> {
  typedef T type;
};
template <class T>
struct remove_addrspace<__attribute__((opencl_global_host)) T> {
  typedef T type;
};
template <class T>
using remove_addrspace_t = typename remove_addrspace<T>::type;

// An object's type carries its address space here, so remove_cv takes that away too: `remove_cv_t<decltype(*device_pointer)>`
// must be a type that a local variable can have.
template <class T>
struct remove_cv {
  typedef typename remove_const<typename remove_volatile<T>::type>::type __unqualified;
  typedef typename remove_addrspace<__unqualified>::type __plain;
  typedef typename remove_const<typename remove_volatile<__plain>::type>::type type;
};
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
using remove_volatile_t = typename remove_volatile<T>::type;
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
struct remove_cvref {
  typedef remove_cv_t<remove_reference_t<T>> type;
};
template <class T>
using remove_cvref_t = typename remove_cvref<T>::type;
template <class T>
struct remove_pointer {
  typedef T type;
};
template <class T>
struct remove_pointer<T*> {
  typedef T type;
};
template <class T>
struct remove_pointer<T* const> {
  typedef T type;
};
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
struct remove_extent {
  typedef T type;
};
template <class T, size_t N>
struct remove_extent<T[N]> {
  typedef T type;
};
template <class T>
struct remove_extent<T[]> {
  typedef T type;
};
template <class T>
using remove_extent_t = typename remove_extent<T>::type;
template <class T>
struct remove_all_extents {
  typedef T type;
};
template <class T, size_t N>
struct remove_all_extents<T[N]> : remove_all_extents<T> {};
template <class T>
struct remove_all_extents<T[]> : remove_all_extents<T> {};
template <class T>
using remove_all_extents_t = typename remove_all_extents<T>::type;
template <class T>
struct add_const {
  typedef const T type;
};
template <class T>
using add_const_t = const T;
template <class T>
struct add_volatile {
  typedef volatile T type;
};
template <class T>
using add_volatile_t = volatile T;
template <class T>
struct add_cv {
  typedef const volatile T type;
};
template <class T>
using add_cv_t = const volatile T;
template <class T>
struct add_pointer {
  typedef remove_reference_t<T>* type;
};
template <class T>
using add_pointer_t = typename add_pointer<T>::type;
template <class T>
struct add_lvalue_reference {
  typedef T& type;
};
template <class T>
using add_lvalue_reference_t = T&;
template <class T>
struct add_rvalue_reference {
  typedef T&& type;
};
template <class T>
using add_rvalue_reference_t = T&&;
template <class T>
struct decay {
  typedef remove_reference_t<T> __object;
  typedef conditional_t<
      __is_array(__object),
      remove_extent_t<__object>*,
      conditional_t<__is_function(__object), add_pointer_t<__object>, remove_cv_t<__object>>>
      type;
};
template <class T>
using decay_t = typename decay<T>::type;
template <class T>
T&& declval() noexcept;

namespace __d {
// A parameter type from which nothing is deduced.
template <class T>
struct id {
  typedef T type;
};
template <class T>
using id_t = typename id<T>::type;

template <class T>
using plain = remove_cv_t<T>;

// What a scalar type is; vectors answer for their component.
template <class T>
struct kind {
  static constexpr bool integer = false, floating = false, unsigned_ = false;
};
template <bool U>
struct integer_kind {
  static constexpr bool integer = true, floating = false, unsigned_ = U;
};
struct floating_kind {
  static constexpr bool integer = false, floating = true, unsigned_ = false;
};
template <> struct kind<bool> : integer_kind<true> {};
template <> struct kind<char> : integer_kind<false> {};
template <> struct kind<signed char> : integer_kind<false> {};
template <> struct kind<uchar> : integer_kind<true> {};
template <> struct kind<short> : integer_kind<false> {};
template <> struct kind<ushort> : integer_kind<true> {};
template <> struct kind<int> : integer_kind<false> {};
template <> struct kind<uint> : integer_kind<true> {};
template <> struct kind<long> : integer_kind<false> {};
template <> struct kind<ulong> : integer_kind<true> {};
template <> struct kind<long long> : integer_kind<false> {};
template <> struct kind<unsigned long long> : integer_kind<true> {};
template <> struct kind<float> : floating_kind {};
template <> struct kind<half> : floating_kind {};
template <> struct kind<bfloat> : floating_kind {};

template <class T>
struct element {
  typedef T type;
  static constexpr int count = 1;
  static constexpr bool vector = false;
};
template <class T, int N>
struct element<vec<T, N>> {
  typedef T type;
  static constexpr int count = N;
  static constexpr bool vector = true;
};
template <class T, int N>
struct element<packed_vec<T, N>> {
  typedef T type;
  static constexpr int count = N;
  static constexpr bool vector = true;
};
template <class T>
using element_kind = kind<typename element<plain<T>>::type>;

// Types with math functions in AIR, and result types that exist for them only.
template <class T>
constexpr bool is_math = false;
template <>
constexpr bool is_math<float> = true;
template <>
constexpr bool is_math<half> = true;
template <class T, class R>
using if_math = enable_if_t<is_math<T>, R>;
template <class T, class R>
using if_floating = enable_if_t<kind<T>::floating, R>;
template <class T, class R>
using if_integer = enable_if_t<kind<T>::integer && !__is_same(T, bool), R>;
} // namespace __d

#define __MSL_TRAIT(name, ...)                    \
  template <class T>                              \
  struct is_##name : bool_constant<__VA_ARGS__> {}; \
  template <class T>                              \
  constexpr constant bool is_##name##_v = __VA_ARGS__;
__MSL_TRAIT(integral, __d::element_kind<T>::integer)
__MSL_TRAIT(floating_point, __d::element_kind<T>::floating)
__MSL_TRAIT(arithmetic, (__d::element_kind<T>::integer || __d::element_kind<T>::floating))
__MSL_TRAIT(signed, ((__d::element_kind<T>::integer && !__d::element_kind<T>::unsigned_) || __d::element_kind<T>::floating))
__MSL_TRAIT(unsigned, __d::element_kind<T>::unsigned_)
__MSL_TRAIT(vector, __d::element<__d::plain<T>>::vector)
__MSL_TRAIT(
    scalar,
    (__d::kind<__d::plain<T>>::integer || __d::kind<__d::plain<T>>::floating || __is_enum(T) || __is_pointer(T)))
__MSL_TRAIT(void, __is_void(T))
__MSL_TRAIT(null_pointer, __is_same(__d::plain<T>, decltype(nullptr)))
__MSL_TRAIT(array, __is_array(T))
__MSL_TRAIT(pointer, __is_pointer(T))
__MSL_TRAIT(reference, __is_reference(T))
__MSL_TRAIT(lvalue_reference, __is_lvalue_reference(T))
__MSL_TRAIT(rvalue_reference, __is_rvalue_reference(T))
__MSL_TRAIT(member_pointer, __is_member_pointer(T))
__MSL_TRAIT(enum, __is_enum(T))
__MSL_TRAIT(class, __is_class(T))
__MSL_TRAIT(union, __is_union(T))
__MSL_TRAIT(function, __is_function(T))
__MSL_TRAIT(fundamental, (__is_fundamental(T) || __d::kind<__d::plain<T>>::floating))
__MSL_TRAIT(compound, __is_compound(T))
__MSL_TRAIT(object, __is_object(T))
__MSL_TRAIT(const, __is_const(T))
__MSL_TRAIT(volatile, __is_volatile(T))
__MSL_TRAIT(trivial, (__is_trivially_constructible(T) && __is_trivially_copyable(T)))
__MSL_TRAIT(trivially_copyable, __is_trivially_copyable(T))
__MSL_TRAIT(standard_layout, __is_standard_layout(T))
__MSL_TRAIT(pod, __is_pod(T))
__MSL_TRAIT(literal_type, __is_literal_type(T))
__MSL_TRAIT(final, __is_final(T))
__MSL_TRAIT(polymorphic, __is_polymorphic(T))
__MSL_TRAIT(abstract, __is_abstract(T))
__MSL_TRAIT(default_constructible, __is_constructible(T))
__MSL_TRAIT(copy_constructible, __is_constructible(T, const T&))
__MSL_TRAIT(move_constructible, __is_constructible(T, T&&))
#undef __MSL_TRAIT

#define __MSL_TRAIT2(name, ...)                   \
  template <class A, class B>                     \
  struct is_##name : bool_constant<__VA_ARGS__> {}; \
  template <class A, class B>                     \
  constexpr constant bool is_##name##_v = __VA_ARGS__;
__MSL_TRAIT2(same, __is_same(A, B))
__MSL_TRAIT2(convertible, __is_convertible(A, B))
__MSL_TRAIT2(base_of, __is_base_of(A, B))
__MSL_TRAIT2(assignable, __is_assignable(A, B))
#undef __MSL_TRAIT2

template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A>
constexpr constant bool is_constructible_v = __is_constructible(T, A...);

template <class T>
struct underlying_type {
  typedef __underlying_type(T) type;
};
template <class T>
using underlying_type_t = typename underlying_type<T>::type;
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T>
constexpr constant size_t alignment_of_v = alignof(T);
template <class T>
struct rank : integral_constant<size_t, 0> {};
template <class T, size_t N>
struct rank<T[N]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T>
constexpr constant size_t rank_v = rank<T>::value;
template <class T, unsigned I = 0>
struct extent : integral_constant<size_t, 0> {};
template <class T, size_t N>
struct extent<T[N], 0> : integral_constant<size_t, N> {};
template <class T, size_t N, unsigned I>
struct extent<T[N], I> : extent<T, I - 1> {};
template <class T, unsigned I = 0>
constexpr constant size_t extent_v = extent<T, I>::value;

template <class... B>
struct conjunction : bool_constant<(bool(B::value) && ...)> {};
template <class... B>
struct disjunction : bool_constant<(bool(B::value) || ...)> {};
template <class B>
struct negation : bool_constant<!bool(B::value)> {};
template <class... B>
constexpr constant bool conjunction_v = (bool(B::value) && ...);
template <class... B>
constexpr constant bool disjunction_v = (bool(B::value) || ...);
template <class B>
constexpr constant bool negation_v = !bool(B::value);
// The names under which Apple's library had them before they were public; kernels use both.
template <class... B>
using _conjunction = conjunction<B...>;
template <class... B>
using _disjunction = disjunction<B...>;
template <class B>
using _negation = negation<B>;

template <class F, class... A>
struct invoke_result {
  typedef decltype(declval<F>()(declval<A>()...)) type;
};
template <class F, class... A>
using invoke_result_t = typename invoke_result<F, A...>::type;
template <class F>
struct result_of;
template <class F, class... A>
struct result_of<F(A...)> {
  typedef decltype(declval<F>()(declval<A>()...)) type;
};
template <class F>
using result_of_t = typename result_of<F>::type;

template <class... T>
struct common_type;
template <class T>
struct common_type<T> {
  typedef decay_t<T> type;
};
template <class T, class U>
struct common_type<T, U> {
  typedef decay_t<decltype(true ? declval<T>() : declval<U>())> type;
};
template <class T, class U, class... V>
struct common_type<T, U, V...> {
  typedef typename common_type<typename common_type<T, U>::type, V...>::type type;
};
template <class... T>
using common_type_t = typename common_type<T...>::type;

template <class T>
struct make_signed {};
template <class T>
struct make_unsigned {};
#define __MSL_SIGN_PAIR(s, u)      \
  template <>                      \
  struct make_signed<s> {          \
    typedef s type;                \
  };                               \
  template <>                      \
  struct make_signed<u> {          \
    typedef s type;                \
  };                               \
  template <>                      \
  struct make_unsigned<s> {        \
    typedef u type;                \
  };                               \
  template <>                      \
  struct make_unsigned<u> {        \
    typedef u type;                \
  };
__MSL_SIGN_PAIR(char, uchar)
__MSL_SIGN_PAIR(short, ushort)
__MSL_SIGN_PAIR(int, uint)
__MSL_SIGN_PAIR(long, ulong)
__MSL_SIGN_PAIR(long long, unsigned long long)
#undef __MSL_SIGN_PAIR
template <>
struct make_signed<signed char> {
  typedef signed char type;
};
template <>
struct make_unsigned<signed char> {
  typedef uchar type;
};
template <class T, int N>
struct make_signed<vec<T, N>> {
  typedef vec<typename make_signed<T>::type, N> type;
};
template <class T, int N>
struct make_unsigned<vec<T, N>> {
  typedef vec<typename make_unsigned<T>::type, N> type;
};
template <class T>
using make_signed_t = typename make_signed<T>::type;
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;

// Names of Apple's library that public kernels use.
template <class T>
struct vec_elements : integral_constant<int, __d::element<__d::plain<T>>::count> {};
template <class T>
struct __is_valid_simdgroup_type
    : bool_constant<
          is_arithmetic_v<T> && !__is_same(typename __d::element<__d::plain<T>>::type, bfloat) &&
          !__is_same(typename __d::element<__d::plain<T>>::type, bool) &&
          sizeof(typename __d::element<__d::plain<T>>::type) < 8> {};
template <class T>
struct __is_valid_quadgroup_type : __is_valid_simdgroup_type<T> {};

} // namespace metal
