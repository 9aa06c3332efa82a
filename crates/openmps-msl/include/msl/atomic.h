// `metal_atomic`: atomic<T> for int, uint, bool, float and ulong, in device and threadgroup memory.
//
// Functions are templates over the pointer; the value is not deduced, so `atomic_fetch_add_explicit(p, 1, …)` works for unsigned.
// Every AIR atomic takes (pointer, operands, order…, scope, volatile); scope is 2 in device memory and 1 in threadgroup memory.
#pragma once
#pragma clang system_header
#include "compute.h"
#include "convert.h"

#define __MSL_SPACES(M) M(device, "global", 2) M(threadgroup, "local", 1)

namespace __air {
// Declarations for one type in one space. Loads, stores, exchanges and compare-exchanges have no sign in their name.
#define __MSL_ACCESS(space, air, T, bits)                                                                             \
  T atomic_load(space const volatile T*, int, int, bool) __MSL_EFFECT("air.atomic." air ".load." bits);               \
  void atomic_store(space volatile T*, T, int, int, bool) __MSL_EFFECT("air.atomic." air ".store." bits);             \
  T atomic_xchg(space volatile T*, T, int, int, bool) __MSL_EFFECT("air.atomic." air ".xchg." bits);                  \
  T atomic_cmpxchg(space volatile T*, thread T*, T, int, int, int, bool)                                              \
      __MSL_EFFECT("air.atomic." air ".cmpxchg.weak." bits);
#define __MSL_MODIFY(space, air, T, op, name) \
  T atomic_##op(space volatile T*, T, int, int, bool) __MSL_EFFECT("air.atomic." air "." #op "." name);
#define __MSL_MODIFY_ALL(space, air, T, name)                                                           \
  __MSL_MODIFY(space, air, T, add, name) __MSL_MODIFY(space, air, T, sub, name)                         \
  __MSL_MODIFY(space, air, T, min, name) __MSL_MODIFY(space, air, T, max, name)                         \
  __MSL_MODIFY(space, air, T, and, name) __MSL_MODIFY(space, air, T, or, name)                          \
  __MSL_MODIFY(space, air, T, xor, name)
#define __MSL_DECLARE(space, air, scope)                                                                          \
  __MSL_ACCESS(space, air, int, "i32")                                                                            \
  __MSL_ACCESS(space, air, uint, "i32")                                                                           \
  __MSL_ACCESS(space, air, float, "f32")                                                                          \
  __MSL_ACCESS(space, air, ulong, "i64")                                                                          \
  __MSL_MODIFY_ALL(space, air, int, "s.i32")                                                                      \
  __MSL_MODIFY_ALL(space, air, uint, "u.i32")                                                                     \
  __MSL_MODIFY(space, air, float, add, "f32")                                                                     \
  __MSL_MODIFY(space, air, float, sub, "f32")                                                                     \
  void atomic_min64(space volatile ulong*, ulong, int, int, bool) __MSL_EFFECT("air.atomic." air ".min.u.i64");   \
  void atomic_max64(space volatile ulong*, ulong, int, int, bool) __MSL_EFFECT("air.atomic." air ".max.u.i64");
__MSL_SPACES(__MSL_DECLARE)
#undef __MSL_DECLARE
#undef __MSL_MODIFY_ALL
#undef __MSL_MODIFY
#undef __MSL_ACCESS
} // namespace __air

namespace metal {

template <class T>
struct atomic {
  typedef T value_type;
  T __s;
  atomic() = default;
  constexpr atomic(T value) : __s(value) {}
};
template <class T>
using _atomic = atomic<T>;
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<bool> atomic_bool;
typedef atomic<float> atomic_float;
typedef atomic<ulong> atomic_ulong;

namespace __d {
template <class T, class R>
using if_atomic = enable_if_t<
    __is_same(T, int) || __is_same(T, uint) || __is_same(T, float) || __is_same(T, ulong) || __is_same(T, bool),
    R>;
template <class T, class R>
using if_atomic_add = enable_if_t<__is_same(T, int) || __is_same(T, uint) || __is_same(T, float), R>;
template <class T, class R>
using if_atomic_integer = enable_if_t<__is_same(T, int) || __is_same(T, uint), R>;
// Bits by which a compare-exchange tells success.
template <class T>
using bits = conditional_t<sizeof(T) == 8, ulong, uint>;
} // namespace __d

#define ATOMIC_VAR_INIT(value) {value}

// A bool is one byte and AIR's atomics start at four, so its operations are LLVM's own.
#define __MSL_FUNCTIONS(space, air, scope)                                                                            \
  template <class T>                                                                                                  \
  __MSL_INLINE __d::if_atomic<T, T> atomic_load_explicit(const volatile space atomic<T>* p, memory_order order) {     \
    if constexpr (__is_same(T, bool))                                                                                 \
      return __atomic_load_n(&p->__s, __ATOMIC_RELAXED);                                                              \
    else                                                                                                              \
      return __air::atomic_load((const volatile space T*)p, order, scope, true);                                      \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  __MSL_INLINE __d::if_atomic<T, void> atomic_store_explicit(                                                         \
      volatile space atomic<T>* p, __d::id_t<T> value, memory_order order) {                                          \
    if constexpr (__is_same(T, bool))                                                                                 \
      __atomic_store_n(&p->__s, value, __ATOMIC_RELAXED);                                                             \
    else                                                                                                              \
      __air::atomic_store((volatile space T*)p, value, order, scope, true);                                           \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  __MSL_INLINE __d::if_atomic<T, T> atomic_exchange_explicit(                                                         \
      volatile space atomic<T>* p, __d::id_t<T> value, memory_order order) {                                          \
    if constexpr (__is_same(T, bool))                                                                                 \
      return __atomic_exchange_n(&p->__s, value, __ATOMIC_RELAXED);                                                   \
    else                                                                                                              \
      return __air::atomic_xchg((volatile space T*)p, value, order, scope, true);                                     \
  }                                                                                                                   \
  /* AIR returns the old value and stores it to `expected` on failure; success shows in equal bits. */                \
  template <class T>                                                                                                  \
  __MSL_INLINE __d::if_atomic<T, bool> atomic_compare_exchange_weak_explicit(                                         \
      volatile space atomic<T>* p, thread __d::id_t<T>* expected, __d::id_t<T> desired, memory_order success,         \
      memory_order failure) {                                                                                         \
    if constexpr (__is_same(T, bool)) {                                                                               \
      return __atomic_compare_exchange_n(&p->__s, expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);      \
    } else {                                                                                                          \
      T before = *expected;                                                                                           \
      T old = __air::atomic_cmpxchg((volatile space T*)p, expected, desired, success, failure, scope, true);          \
      return as_type<__d::bits<T>>(old) == as_type<__d::bits<T>>(before);                                             \
    }                                                                                                                 \
  }                                                                                                                   \
  __MSL_FETCH(space, scope, add, if_atomic_add)                                                                       \
  __MSL_FETCH(space, scope, sub, if_atomic_add)                                                                       \
  __MSL_FETCH(space, scope, min, if_atomic_integer)                                                                   \
  __MSL_FETCH(space, scope, max, if_atomic_integer)                                                                   \
  __MSL_FETCH(space, scope, and, if_atomic_integer)                                                                   \
  __MSL_FETCH(space, scope, or, if_atomic_integer)                                                                    \
  __MSL_FETCH(space, scope, xor, if_atomic_integer)                                                                   \
  __MSL_LAZY void atomic_min_explicit(volatile space atomic<ulong>* p, ulong value, memory_order order) {             \
    __air::atomic_min64((volatile space ulong*)p, value, order, scope, true);                                         \
  }                                                                                                                   \
  __MSL_LAZY void atomic_max_explicit(volatile space atomic<ulong>* p, ulong value, memory_order order) {             \
    __air::atomic_max64((volatile space ulong*)p, value, order, scope, true);                                         \
  }
#define __MSL_FETCH(space, scope, op, constraint)                                                                     \
  template <class T>                                                                                                  \
  __MSL_INLINE __d::constraint<T, T> atomic_fetch_##op##_explicit(                                                    \
      volatile space atomic<T>* p, __d::id_t<T> value, memory_order order) {                                          \
    return __air::atomic_##op((volatile space T*)p, value, order, scope, true);                                       \
  }
__MSL_SPACES(__MSL_FUNCTIONS)
#undef __MSL_FUNCTIONS
#undef __MSL_FETCH

} // namespace metal

#undef __MSL_SPACES
