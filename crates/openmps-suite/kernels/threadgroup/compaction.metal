// what: selected values packed by positions from a scan
// threads: 64
// group: 64
// out: np.full(64, -1, np.int32)
// in: rng.integers(-50, 50, 64).astype(np.int32)
// let: kept = a[a > 0]
// expect: np.concatenate([kept, np.full(64 - len(kept), -1)])
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  threadgroup uint places[64];
  bool keep = a[i] > 0;
  places[i] = keep;
  for (uint step = 1; step < 64; step *= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint before = i >= step ? places[i - step] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    places[i] += before;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (keep) out[places[i] - 1] = a[i];
}
