// what: an inclusive scan with two barriers a step
// threads: 256
// group: 256
// out: np.zeros(256, np.int32)
// in: rng.integers(-9, 9, 256).astype(np.int32)
// expect: np.cumsum(a)
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[256];
  shared[i] = a[i];
  for (uint distance = 1; distance < 256; distance *= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int other = i >= distance ? shared[i - distance] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    shared[i] += other;
  }
  out[i] = shared[i];
}
