// `metal_simdgroup_matrix`: 8 x 8 matrices spread over a SIMD-group, two elements in each thread.
//
// AIR passes them as <64 x T> of which a thread uses the first two elements. Loads and stores take AIR's form of versions up to
// 2.7: pointer, elements per row, origin, transpose.
#pragma once
#pragma clang system_header
#include "matrix.h"

namespace __air {
template <class T>
using matrix64 = metal::__d::raw<T, 64>;
typedef metal::__d::raw<long, 2> long2_raw;

#define __MSL_MEMORY(T, t, space, p)                                                                    \
  matrix64<T> simdgroup_load(space const T*, long, long2_raw, bool)                                     \
      __MSL_CONVERGENT("air.simdgroup_matrix_8x8_load.v64" t "." p t);                                  \
  void simdgroup_store(matrix64<T>, space T*, long, long2_raw, bool)                                    \
      __MSL_CONVERGENT("air.simdgroup_matrix_8x8_store.v64" t "." p t);
#define __MSL_DECLARE(T, t)                                                                              \
  __MSL_MEMORY(T, t, device, "p1")                                                                       \
  __MSL_MEMORY(T, t, threadgroup, "p3")                                                                  \
  matrix64<T> simdgroup_filled(T) __MSL_CONVERGENT("air.simdgroup_matrix_8x8_init_filled.v64" t "." t);  \
  matrix64<T> simdgroup_diagonal(T) __MSL_CONVERGENT("air.simdgroup_matrix_8x8_init_diag.v64" t "." t);
__MSL_DECLARE(float, "f32")
__MSL_DECLARE(half, "f16")
__MSL_DECLARE(bfloat, "bf16")
#undef __MSL_DECLARE
#undef __MSL_MEMORY

// a * b + c for every combination of types; the result's type is part of the name.
#define __MSL_MMA(D, d, A, a, B, b, C, c)                                             \
  matrix64<D> simdgroup_mma_##d(matrix64<A>, matrix64<B>, matrix64<C>)                \
      __MSL_CONVERGENT("air.simdgroup_matrix_8x8_multiply_accumulate.v64" #d ".v64" #a ".v64" #b ".v64" #c);
#define __MSL_MMA_C(D, d, A, a, B, b) \
  __MSL_MMA(D, d, A, a, B, b, float, f32) __MSL_MMA(D, d, A, a, B, b, half, f16) __MSL_MMA(D, d, A, a, B, b, bfloat, bf16)
#define __MSL_MMA_B(D, d, A, a) \
  __MSL_MMA_C(D, d, A, a, float, f32) __MSL_MMA_C(D, d, A, a, half, f16) __MSL_MMA_C(D, d, A, a, bfloat, bf16)
#define __MSL_MMA_A(D, d) __MSL_MMA_B(D, d, float, f32) __MSL_MMA_B(D, d, half, f16) __MSL_MMA_B(D, d, bfloat, bf16)
__MSL_MMA_A(float, f32)
__MSL_MMA_A(half, f16)
__MSL_MMA_A(bfloat, bf16)
#undef __MSL_MMA
#undef __MSL_MMA_C
#undef __MSL_MMA_B
#undef __MSL_MMA_A

template <class D, class A, class B, class C>
__MSL_INLINE matrix64<D> simdgroup_mma(A a, B b, C c) {
  if constexpr (__is_same(D, float))
    return simdgroup_mma_f32(a, b, c);
  else if constexpr (__is_same(D, half))
    return simdgroup_mma_f16(a, b, c);
  else
    return simdgroup_mma_bf16(a, b, c);
}
} // namespace __air

namespace metal {

template <class T, int Columns, int Rows = Columns>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "a simdgroup_matrix has 8 rows and 8 columns");
  typedef vec<T, 2> storage_type;
  __air::matrix64<T> __m;

  simdgroup_matrix() = default;
  // The diagonal is `value`, everything else zero.
  __MSL_INLINE explicit simdgroup_matrix(T value) : __m(__air::simdgroup_diagonal(value)) {}
  __MSL_INLINE thread storage_type& thread_elements() { return *reinterpret_cast<thread storage_type*>(&__m); }
  __MSL_INLINE const thread storage_type& thread_elements() const {
    return *reinterpret_cast<const thread storage_type*>(&__m);
  }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int Columns, int Rows = Columns>
__MSL_INLINE simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(__d::id_t<T> value) {
  simdgroup_matrix<T, Columns, Rows> m;
  m.__m = __air::simdgroup_filled(T(value));
  return m;
}

#define __MSL_MEMORY(space)                                                                                     \
  template <class T, int C, int R>                                                                              \
  __MSL_INLINE void simdgroup_load(                                                                             \
      thread simdgroup_matrix<T, C, R>& d, const space T* source, ulong elements_per_row = C,                   \
      ulong2 origin = ulong2(0), bool transpose = false) {                                                      \
    d.__m = __air::simdgroup_load(                                                                              \
        source, (long)elements_per_row, __air::long2_raw{(long)origin.x, (long)origin.y}, transpose);           \
  }                                                                                                             \
  template <class T, int C, int R>                                                                              \
  __MSL_INLINE void simdgroup_store(                                                                            \
      simdgroup_matrix<T, C, R> a, space T* destination, ulong elements_per_row = C, ulong2 origin = ulong2(0), \
      bool transpose = false) {                                                                                 \
    __air::simdgroup_store(                                                                                     \
        a.__m, destination, (long)elements_per_row, __air::long2_raw{(long)origin.x, (long)origin.y}, transpose); \
  }
__MSL_MEMORY(device)
__MSL_MEMORY(threadgroup)
#undef __MSL_MEMORY

template <class D, class A, class B, class C>
__MSL_INLINE void simdgroup_multiply_accumulate(
    thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b,
    simdgroup_matrix<C, 8, 8> c) {
  d.__m = __air::simdgroup_mma<D>(a.__m, b.__m, c.__m);
}
template <class D, class A, class B>
__MSL_INLINE void simdgroup_multiply(
    thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  d.__m = __air::simdgroup_mma<D>(a.__m, b.__m, __air::simdgroup_filled(D(0.0f)));
}
template <class T>
__MSL_INLINE simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b) {
  simdgroup_matrix<T, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}

} // namespace metal

// Apple's own layer under simdgroup_multiply_accumulate, which public kernels call; the last operand only selects the type.
template <class D, class A, class B, class C>
__MSL_INLINE metal::vec<D, 64> __metal_simdgroup_matrix_8x8_multiply_accumulate(
    metal::vec<A, 64> a, metal::vec<B, 64> b, metal::vec<C, 64> c, metal::vec<D, 64>) {
  return metal::vec<D, 64>(__air::simdgroup_mma<D>(a.__v, b.__v, c.__v), metal::__d::raw_tag());
}
