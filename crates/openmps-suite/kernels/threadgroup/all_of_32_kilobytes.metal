// what: the largest allowed static threadgroup array
// threads: 256
// group: 256
// out: np.zeros(256, np.int32)
// expect: [sum(range(t, 8192, 256)) for t in range(256)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[8192];
  for (uint k = 0; k < 32; k++) shared[32 * i + k] = 32 * i + k;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int sum = 0;
  for (uint k = i; k < 8192; k += 256) sum += shared[k];
  out[i] = sum;
}
