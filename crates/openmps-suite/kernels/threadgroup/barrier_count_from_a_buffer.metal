// what: a loop with barriers whose length comes from memory
// threads: 32
// group: 32
// out: np.zeros(32, np.int32)
// in: rng.integers(1, 20, 1).astype(np.int32)
// expect: np.roll(np.arange(32), -int(a[0]))
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, constant int& rounds, uint i [[thread_position_in_grid]]) {
  threadgroup int ring[32];
  ring[i] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int k = 0; k < rounds; k++) {
    int next = ring[(i + 1) % 32];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ring[i] = next;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[i] = ring[i];
}
