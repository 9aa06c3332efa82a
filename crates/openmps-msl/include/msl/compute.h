// `metal_compute`: memory flags, orders and scopes, barriers and fences; the question whether a function constant is set.
//
// AIR numbers: flags 1 device, 2 threadgroup, 4 texture; scopes 1 threadgroup, 2 device, 4 SIMD-group; orders as in C++.
#pragma once
#pragma clang system_header
#include "traits.h"

namespace metal {

enum class mem_flags : int {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_device_and_threadgroup = 3,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16
};
template <int = 0>
__MSL_INLINE constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return (mem_flags)((int)a | (int)b);
}
template <int = 0>
__MSL_INLINE constexpr mem_flags operator&(mem_flags a, mem_flags b) {
  return (mem_flags)((int)a & (int)b);
}

enum memory_order : int {
  memory_order_relaxed = 0,
  memory_order_acquire = 2,
  memory_order_release = 3,
  memory_order_acq_rel = 4,
  memory_order_seq_cst = 5
};
enum thread_scope : int {
  thread_scope_thread = 0,
  thread_scope_threadgroup = 1,
  thread_scope_device = 2,
  thread_scope_simdgroup = 4
};

void __wg_barrier(int flags, int scope) __MSL_CONVERGENT("air.wg.barrier");
void __simdgroup_barrier(int flags, int scope) __MSL_CONVERGENT("air.simdgroup.barrier");
void __atomic_fence(int flags, int order, int scope) __MSL_CONVERGENT("air.atomic.fence");

__MSL_LAZY void threadgroup_barrier(mem_flags flags, thread_scope scope = thread_scope_threadgroup) {
  __wg_barrier((int)flags, scope);
}
__MSL_LAZY void simdgroup_barrier(mem_flags flags, thread_scope scope = thread_scope_simdgroup) {
  __simdgroup_barrier((int)flags, scope);
}
// A quad-group is part of a SIMD-group; AIR has no barrier of its own for it in the libraries that were read.
__MSL_LAZY void quadgroup_barrier(mem_flags flags) { __simdgroup_barrier((int)flags, thread_scope_simdgroup); }
__MSL_LAZY void atomic_thread_fence(mem_flags flags, memory_order order, thread_scope scope = thread_scope_device) {
  __atomic_fence((int)flags, order, scope);
}

// Functions that the host chooses exist in compiled libraries only; the condition waits for a use of the table.
template <class Signature>
struct visible_function_table {
  static_assert(!__is_same(Signature, Signature), "a visible_function_table is not supported in source text");
};
// The `MTLDataType` of T; 0 where function constants cannot have that type.
template <typename T>
inline constexpr int __function_constant_type = __is_same(T, float)    ? 3
                                                : __is_same(T, half)   ? 16
                                                : __is_same(T, int)    ? 29
                                                : __is_same(T, uint)   ? 33
                                                : __is_same(T, short)  ? 37
                                                : __is_same(T, ushort) ? 41
                                                : __is_same(T, char)   ? 45
                                                : __is_same(T, uchar)  ? 49
                                                : __is_same(T, bool)   ? 53
                                                : __is_same(T, long)   ? 81
                                                : __is_same(T, ulong)  ? 85
                                                : __is_same(T, bfloat) ? 121
                                                                       : 0;
template <typename T, int N>
inline constexpr int __function_constant_type<vec<T, N>> = __function_constant_type<T> + N - 1;

// The address of the value that a host sets. The compiler replaces it by that of a variable.
const constant void *__function_constant_address(uint index, int type) __MSL_PURE("air.openmps_function_constant");
bool __is_function_constant_defined(const constant void *) __MSL_PURE("air.is_function_constant_defined");

// What the rewriter makes of `[[function_constant(index)]]` on a variable: its initial value.
template <typename T>
__MSL_INLINE T __function_constant(uint index) {
  static_assert(__function_constant_type<T> != 0, "invalid type for attribute 'function_constant'");
  return *(const constant T *)__function_constant_address(index, __function_constant_type<T>);
}

} // namespace metal

#define is_function_constant_defined(name) (::metal::__is_function_constant_defined(&(name)))
