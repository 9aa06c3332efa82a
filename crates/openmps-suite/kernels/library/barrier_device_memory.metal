// what: a device-memory barrier orders writes within the threadgroup
// threads: 64
// out: np.zeros(128, np.int32)
// expect: np.concatenate([np.arange(64), np.arange(64)[::-1]])
#include <metal_stdlib>
using namespace metal;

kernel void test(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = i;
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  out[64 + i] = out[63 - i];
}
