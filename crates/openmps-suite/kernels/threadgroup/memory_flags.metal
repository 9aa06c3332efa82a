// what: barriers with device, none and combined flags
// threads: 32
// group: 32
// out: np.zeros(64, np.int32)
// expect: [*[31 - t for t in range(32)], *range(32)]
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  threadgroup int shared[32];
  out[32 + i] = i;
  shared[i] = i;
  threadgroup_barrier(mem_flags::mem_none);
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  out[i] = shared[31 - i] + out[32 + (i + 1) % 32] - int((i + 1) % 32);
}
