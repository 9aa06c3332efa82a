// what: unsigned counters wrap
// threads: 10
// out: np.array([-5], np.int32)
// expect: [5]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_uint* out) {
  atomic_fetch_add_explicit(out, 1u, memory_order_relaxed);
}
