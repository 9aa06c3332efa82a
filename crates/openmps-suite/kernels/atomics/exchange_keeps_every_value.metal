// what: values passed on by exchange are neither lost nor doubled
// threads: 256
// group: 32
// out: np.zeros(2, np.int32)
// let: total = sum(range(1, 257))
// expect: [0, total]
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_int* out, uint i [[thread_position_in_grid]]) {
  int mine = atomic_exchange_explicit(out, int(i) + 1, memory_order_relaxed);
  atomic_fetch_add_explicit(out + 1, mine, memory_order_relaxed);
  mine = atomic_exchange_explicit(out, 0, memory_order_relaxed);
  atomic_fetch_add_explicit(out + 1, mine, memory_order_relaxed);
}
