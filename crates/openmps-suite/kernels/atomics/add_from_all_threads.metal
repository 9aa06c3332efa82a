// what: fetch_add on one counter from many threadgroups
// threads: 4096
// group: 64
// out: np.zeros(1, np.int32)
// expect: [sum(range(4096))]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_int* out, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(out, int(i), memory_order_relaxed);
}
