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

} // namespace metal

// No interface that the project offers sets function constants yet, so none is ever defined; the rewriter gives each its type's
// default value.
#define is_function_constant_defined(name) (sizeof(name) == 0)
