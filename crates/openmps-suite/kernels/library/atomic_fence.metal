// what: fences of every order, and a ticket that decides which threadgroup is last
// threads: 128
// group: 32
// out: np.zeros(6, np.int32)
// expect: [4, 1 + 2 + 3 + 4, 1, 2, 3, 4]
#include <metal_stdlib>
using namespace metal;

kernel void test(
    device atomic_int* out, uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  if (t != 0) return;
  atomic_store_explicit(&out[2 + g], int(g) + 1, memory_order_relaxed);
  atomic_thread_fence(mem_flags::mem_device, memory_order_release);
  int ticket = atomic_fetch_add_explicit(&out[0], 1, memory_order_relaxed);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  if (ticket == 3) {
    int total = 0;
    for (int k = 0; k < 4; k++) total += atomic_load_explicit(&out[2 + k], memory_order_relaxed);
    atomic_store_explicit(&out[1], total, memory_order_relaxed);
  }
}
