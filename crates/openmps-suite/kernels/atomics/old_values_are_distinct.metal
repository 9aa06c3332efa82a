// what: each fetch_add returns a value of its own
// threads: 1000
// group: 50
// out: np.zeros(1001, np.int32)
// expect: [1000, *[1] * 1000]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_int* out) {
  int ticket = atomic_fetch_add_explicit(out, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(out + 1 + ticket, 1, memory_order_relaxed);
}
