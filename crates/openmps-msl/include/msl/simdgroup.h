// `metal_simdgroup`: functions between the 32 threads of a SIMD-group, and `metal_quadgroup`: the same in groups of four.
//
// They exist for float, half and the integers up to 32 bits, and vectors of these. Kernels define their own for bfloat, bool
// and 64-bit integers.
#pragma once
#pragma clang system_header
#include "matrix.h"

ushort __simdgroup_size16() __MSL_PURE("air.get_simdgroup_size.i16");
uint __simdgroup_size32() __MSL_PURE("air.get_simdgroup_size.i32");
ushort __thread_index_in_simdgroup16() __MSL_PURE("air.get_thread_index_in_simdgroup.i16");
uint __thread_index_in_simdgroup32() __MSL_PURE("air.get_thread_index_in_simdgroup.i32");
__MSL_LAZY ushort __metal_get_simdgroup_size(ushort) { return __simdgroup_size16(); }
__MSL_LAZY uint __metal_get_simdgroup_size(uint) { return __simdgroup_size32(); }
__MSL_LAZY ushort __metal_get_thread_index_in_simdgroup(ushort) { return __thread_index_in_simdgroup16(); }
__MSL_LAZY uint __metal_get_thread_index_in_simdgroup(uint) { return __thread_index_in_simdgroup32(); }

#define __MSL_REDUCTIONS(M, G)                                                                  \
  M(G, sum) M(G, product) M(G, min) M(G, max) M(G, prefix_inclusive_sum) M(G, prefix_exclusive_sum) \
  M(G, prefix_inclusive_product) M(G, prefix_exclusive_product) M(G, broadcast_first)
#define __MSL_BITWISE(M, G) M(G, and) M(G, or) M(G, xor)
#define __MSL_MOVES(M, G)                                                                       \
  M(G, broadcast) M(G, shuffle) M(G, shuffle_xor) M(G, shuffle_up) M(G, shuffle_down)           \
  M(G, shuffle_rotate_up) M(G, shuffle_rotate_down)
#define __MSL_FILLS(M, G) M(G, shuffle_and_fill_up) M(G, shuffle_and_fill_down)

// AIR's sign and type letters: V is "" for a scalar, "v2" and so on for a vector.
#define __MSL_FLOATS(M, G, op, V, X) M(G, op, X(float), V "f32") M(G, op, X(half), V "f16")
#define __MSL_INTEGERS(M, G, op, V, X)                                         \
  M(G, op, X(int), "s." V "i32") M(G, op, X(uint), "u." V "i32")               \
  M(G, op, X(short), "s." V "i16") M(G, op, X(ushort), "u." V "i16")           \
  M(G, op, X(char), "s." V "i8") M(G, op, X(uchar), "u." V "i8")
#define __MSL_ALL(M, G, op, V, X) __MSL_FLOATS(M, G, op, V, X) __MSL_INTEGERS(M, G, op, V, X)

#define __MSL_DECLARE1(G, op, T, name) T G##_##op(T) __MSL_CONVERGENT("air." #G "_" #op "." name);
#define __MSL_DECLARE2(G, op, T, name) T G##_##op(T, ushort) __MSL_CONVERGENT("air." #G "_" #op "." name);
#define __MSL_DECLARE_FILL(G, op, T, name) \
  T G##_##op(T, T, ushort, ushort) __MSL_CONVERGENT("air." #G "_" #op "." name);

#define __MSL_X1(T) T
#define __MSL_X2(T) metal::__d::raw<T, 2>
#define __MSL_X3(T) metal::__d::raw<T, 3>
#define __MSL_X4(T) metal::__d::raw<T, 4>
#define __MSL_RAWS(EACH, M, G, op) \
  EACH(M, G, op, "v2", __MSL_X2) EACH(M, G, op, "v3", __MSL_X3) EACH(M, G, op, "v4", __MSL_X4)

// Raw vectors.
namespace __air {
#define __MSL_M(G, op) __MSL_RAWS(__MSL_ALL, __MSL_DECLARE1, G, op)
__MSL_REDUCTIONS(__MSL_M, simd)
__MSL_REDUCTIONS(__MSL_M, quad)
#undef __MSL_M
#define __MSL_M(G, op) __MSL_RAWS(__MSL_INTEGERS, __MSL_DECLARE1, G, op)
__MSL_BITWISE(__MSL_M, simd)
__MSL_BITWISE(__MSL_M, quad)
#undef __MSL_M
#define __MSL_M(G, op) __MSL_RAWS(__MSL_ALL, __MSL_DECLARE2, G, op)
__MSL_MOVES(__MSL_M, simd)
__MSL_MOVES(__MSL_M, quad)
#undef __MSL_M
#define __MSL_M(G, op) __MSL_RAWS(__MSL_ALL, __MSL_DECLARE_FILL, G, op)
__MSL_FILLS(__MSL_M, simd)
__MSL_FILLS(__MSL_M, quad)
#undef __MSL_M
ulong simd_ballot(bool) __MSL_CONVERGENT("air.simd_ballot.i64");
ulong simd_active_threads_mask() __MSL_CONVERGENT("air.simd_active_threads_mask.i64");
bool simd_vote_all(ulong) __MSL_CONVERGENT("air.simd_vote_all.i64");
bool simd_vote_any(ulong) __MSL_CONVERGENT("air.simd_vote_any.i64");
ulong quad_ballot(bool) __MSL_CONVERGENT("air.quad_ballot.i64");
ulong quad_active_threads_mask() __MSL_CONVERGENT("air.quad_active_threads_mask.i64");
bool quad_vote_all(ulong) __MSL_CONVERGENT("air.quad_vote_all.i64");
bool quad_vote_any(ulong) __MSL_CONVERGENT("air.quad_vote_any.i64");
} // namespace __air

namespace metal {

// Scalars, then vectors over the raw declarations.
#define __MSL_M(G, op)                              \
  __MSL_ALL(__MSL_DECLARE1, G, op, "", __MSL_X1)    \
  template <class T, int N>                         \
  __MSL_INLINE vec<T, N> G##_##op(vec<T, N> a) {    \
    return vec<T, N>(__air::G##_##op(a.__v), __d::raw_tag()); \
  }
__MSL_REDUCTIONS(__MSL_M, simd)
__MSL_REDUCTIONS(__MSL_M, quad)
#undef __MSL_M
#define __MSL_M(G, op)                                \
  __MSL_INTEGERS(__MSL_DECLARE1, G, op, "", __MSL_X1) \
  template <class T, int N>                           \
  __MSL_INLINE vec<T, N> G##_##op(vec<T, N> a) {      \
    return vec<T, N>(__air::G##_##op(a.__v), __d::raw_tag()); \
  }
__MSL_BITWISE(__MSL_M, simd)
__MSL_BITWISE(__MSL_M, quad)
#undef __MSL_M
#define __MSL_M(G, op)                                        \
  __MSL_ALL(__MSL_DECLARE2, G, op, "", __MSL_X1)              \
  template <class T, int N>                                   \
  __MSL_INLINE vec<T, N> G##_##op(vec<T, N> a, ushort lane) { \
    return vec<T, N>(__air::G##_##op(a.__v, lane), __d::raw_tag()); \
  }
__MSL_MOVES(__MSL_M, simd)
__MSL_MOVES(__MSL_M, quad)
#undef __MSL_M
// The default modulo is the width of the group. A declaration cannot be overloaded with a default by macro for one group only,
// so the three-operand forms are functions of their own.
#define __MSL_SHORT_FILL(G, op, T, name) \
  __MSL_LAZY T G##_##op(T data, T fill, ushort delta) { return G##_##op(data, fill, delta, __MSL_WIDTH_##G); }
#define __MSL_WIDTH_simd __simdgroup_size16()
#define __MSL_WIDTH_quad ushort(4)
#define __MSL_M(G, op)                                                                                           \
  __MSL_ALL(__MSL_DECLARE_FILL, G, op, "", __MSL_X1)                                                             \
  __MSL_ALL(__MSL_SHORT_FILL, G, op, "", __MSL_X1)                                                               \
  template <class T, int N>                                                                                      \
  __MSL_INLINE vec<T, N> G##_##op(vec<T, N> data, vec<T, N> fill, ushort delta, ushort modulo = __MSL_WIDTH_##G) { \
    return vec<T, N>(__air::G##_##op(data.__v, fill.__v, delta, modulo), __d::raw_tag());                        \
  }
__MSL_FILLS(__MSL_M, simd)
__MSL_FILLS(__MSL_M, quad)
#undef __MSL_M
#undef __MSL_SHORT_FILL
#undef __MSL_WIDTH_simd
#undef __MSL_WIDTH_quad

bool simd_all(bool) __MSL_CONVERGENT("air.simd_all");
bool simd_any(bool) __MSL_CONVERGENT("air.simd_any");
bool simd_is_first() __MSL_CONVERGENT("air.simd_is_first");
bool quad_all(bool) __MSL_CONVERGENT("air.quad_all");
bool quad_any(bool) __MSL_CONVERGENT("air.quad_any");
bool quad_is_first() __MSL_CONVERGENT("air.quad_is_first");

// The result of a ballot. Only explicit conversions, as in Metal.
#define __MSL_VOTE(G)                                                                                      \
  class G##_vote {                                                                                         \
   public:                                                                                                 \
    typedef ulong vote_t;                                                                                  \
    G##_vote() = default;                                                                                  \
    explicit constexpr G##_vote(vote_t votes) : __votes(votes) {}                                          \
    explicit constexpr operator vote_t() const { return __votes; }                                         \
    template <int = 0>                                                                                     \
    __MSL_INLINE bool all() const {                                                                        \
      return __air::G##_vote_all(__votes);                                                                 \
    }                                                                                                      \
    template <int = 0>                                                                                     \
    __MSL_INLINE bool any() const {                                                                        \
      return __air::G##_vote_any(__votes);                                                                 \
    }                                                                                                      \
                                                                                                           \
   private:                                                                                                \
    vote_t __votes;                                                                                        \
  };                                                                                                       \
  __MSL_LAZY G##_vote G##_ballot(bool vote) { return G##_vote(__air::G##_ballot(vote)); }                  \
  __MSL_LAZY G##_vote G##_active_threads_mask() { return G##_vote(__air::G##_active_threads_mask()); }     \
  /* Helper threads exist in fragment functions only. */                                                   \
  __MSL_LAZY bool G##_is_helper_thread() { return false; }
__MSL_VOTE(simd)
__MSL_VOTE(quad)
#undef __MSL_VOTE

} // namespace metal

// The names under which public kernels call Apple's own layer.
#define __MSL_M(G, op)                     \
  template <class T>                       \
  __MSL_INLINE T __metal_##G##_##op(T a) { \
    return metal::G##_##op(a);             \
  }
__MSL_REDUCTIONS(__MSL_M, simd)
__MSL_REDUCTIONS(__MSL_M, quad)
#undef __MSL_M
// Public kernels instantiate these for floating types too; they act on the bits there.
#define __MSL_M(G, op)                                                                 \
  template <class T>                                                                   \
  __MSL_INLINE T __metal_##G##_##op(T a) {                                             \
    if constexpr (metal::is_integral_v<T>)                                             \
      return metal::G##_##op(a);                                                       \
    else if constexpr (sizeof(T) == 4)                                                 \
      return as_type<T>(metal::G##_##op(as_type<uint>(a)));                            \
    else                                                                               \
      return as_type<T>(metal::G##_##op(as_type<ushort>(a)));                          \
  }
__MSL_BITWISE(__MSL_M, simd)
__MSL_BITWISE(__MSL_M, quad)
#undef __MSL_M
#define __MSL_M(G, op)                                  \
  template <class T>                                    \
  __MSL_INLINE T __metal_##G##_##op(T a, ushort lane) { \
    return metal::G##_##op(a, lane);                    \
  }
__MSL_MOVES(__MSL_M, simd)
__MSL_MOVES(__MSL_M, quad)
#undef __MSL_M
#define __MSL_M(G, op)                                                               \
  template <class T>                                                                 \
  __MSL_INLINE T __metal_##G##_##op(T data, T fill, ushort delta, ushort modulo) {   \
    return metal::G##_##op(data, fill, delta, modulo);                               \
  }
__MSL_FILLS(__MSL_M, simd)
__MSL_FILLS(__MSL_M, quad)
#undef __MSL_M

#undef __MSL_REDUCTIONS
#undef __MSL_BITWISE
#undef __MSL_MOVES
#undef __MSL_FILLS
#undef __MSL_FLOATS
#undef __MSL_INTEGERS
#undef __MSL_ALL
#undef __MSL_DECLARE1
#undef __MSL_DECLARE2
#undef __MSL_DECLARE_FILL
#undef __MSL_X1
#undef __MSL_X2
#undef __MSL_X3
#undef __MSL_X4
#undef __MSL_RAWS
