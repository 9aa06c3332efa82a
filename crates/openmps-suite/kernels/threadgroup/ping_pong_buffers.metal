// what: two buffers swapped by pointers in each round
// threads: 64
// group: 64
// out: np.zeros(64, np.int32)
// in: rng.integers(0, 9, 64).astype(np.int32)
// let: x = a.copy()
// let: x = [x := x + np.roll(x, -1) for _ in range(6)][-1]
// expect: x
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, device const int* a, uint i [[thread_position_in_grid]]) {
  threadgroup int first[64], second[64];
  threadgroup int* from = first;
  threadgroup int* to = second;
  from[i] = a[i];
  for (int k = 0; k < 6; k++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to[i] = from[i] + from[(i + 1) % 64];
    threadgroup int* kept = from;
    from = to;
    to = kept;
  }
  out[i] = from[i];
}
