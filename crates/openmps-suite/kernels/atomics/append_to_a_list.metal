// what: threads append their findings at places from a counter
// threads: 128
// group: 32
// out: np.zeros(129, np.int32)
// in: rng.integers(0, 100, 128).astype(np.int32)
// let: found = (a > 60).sum()
// let: marks = np.zeros(129, int)
// let: _ = marks.__setitem__(0, found)
// let: _ = marks.__setitem__(slice(1, 1 + int(found)), 1)
// expect: marks
#include <metal_stdlib>
using namespace metal;

kernel void test(device atomic_int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  if (a[i] > 60) {
    int place = atomic_fetch_add_explicit(out, 1, memory_order_relaxed);
    atomic_store_explicit(out + 1 + place, 1, memory_order_relaxed);
  }
}
